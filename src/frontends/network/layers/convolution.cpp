#include "base/checked.h"
#include "base/error.h"
#include "frontends/network/layers/windows.h"

#include <fmt/ranges.h>

namespace rondel::network {
namespace {

/// Input 1 or the weights, in the shape [maps, channels per group, kernel...].
ValueId kernel(Lowering& l, const ir::Ints& size) {
  const std::int64_t maps = l.parameters().i("maps"), groups = l.parameters().i("groups");
  if (l.has(1)) {
    const ir::Type& t = l.type(l.in(1));
    require(!t.has_rank() || t.rank() == 0 || !t.extent(0).known() || t.extent(0).value == maps,
            "the kernel is {} for {} output maps", to_text(t), maps);
    return l.in(1);
  }
  require(l.parameters().has("kernel"), "it has no kernel; give weights or set input 1");
  const Tensor& given = l.parameters().tensor("kernel");
  std::int64_t each = maps;
  for (const std::int64_t n : size) each = checked_mul(each, n);
  const ir::Extent& channels = l.type(l.in(0)).extent(1);
  const std::int64_t depth = channels.known() ? channels.value / groups
                             : each > 0       ? given.size() / each
                                              : 0;
  require(given.size() == checked_mul(each, depth),
          "the kernel has {} weights; expected {} for {} output maps, {} channels in {} groups and "
          "a kernel of [{}]",
          given.size(), each * depth, maps, depth * groups, groups, fmt::join(size, ", "));
  Shape shape{maps, depth};
  shape.insert(shape.end(), size.begin(), size.end());
  return l.b.constant(given.reshaped(shape));
}

ValueId bias(Lowering& l) {
  if (l.has(2)) return l.in(2);
  if (!l.parameters().has("bias")) return ValueId::none;
  const Tensor& given = l.parameters().tensor("bias");
  require(given.size() == l.parameters().i("maps"), "the bias has {} weights for {} output maps",
          given.size(), l.parameters().i("maps"));
  return l.b.constant(given);
}

std::vector<ValueId> lower_convolution(Lowering& l) {
  const ValueId x = l.in(0);
  const std::int64_t groups = l.parameters().i("groups"), maps = l.parameters().i("maps");
  const ir::Ints size = window_of(l, "kernel_size");
  require(groups >= 1 && maps >= 1, "{} output maps in {} groups; expected 1 or more of both", maps,
          groups);
  ir::Attributes a = window_attributes(l, size);
  if (l.choice<PaddingMode>("padding_mode") == PaddingMode::kEXPLICIT_ROUND_UP) round_up(a);
  a.set("group", groups);
  std::vector<ValueId> operands{x, l.cast(kernel(l, size), l.dtype(x))};
  if (const ValueId b = bias(l); b != ValueId::none) operands.push_back(l.cast(b, l.dtype(x)));
  return {l.b("conv", operands, a)};
}

const KindEntry convolution_layer{{LayerType::kCONVOLUTION, "Convolution", 3, lower_convolution}};

}  // namespace

IConvolutionLayer* INetworkDefinition::addConvolutionNd(ITensor& input, std::int64_t nbOutputMaps,
                                                        const Dims& kernelSize,
                                                        Weights kernelWeights,
                                                        Weights biasWeights) {
  IConvolutionLayer* layer = add_layer<IConvolutionLayer>(
      *data_, LayerType::kCONVOLUTION, {&input.data()},
      {{"maps", nbOutputMaps},
       {"groups", std::int64_t{1}},
       {"padding_mode", static_cast<std::int64_t>(PaddingMode::kEXPLICIT_ROUND_DOWN)}});
  layer->setKernelSizeNd(kernelSize);
  layer->setKernelWeights(kernelWeights);
  layer->setBiasWeights(biasWeights);
  return layer;
}

void IConvolutionLayer::setNbOutputMaps(std::int64_t v) { set_choice(*this, "maps", v); }
std::int64_t IConvolutionLayer::getNbOutputMaps() const {
  return choice<std::int64_t>(*this, "maps");
}
void IConvolutionLayer::setNbGroups(std::int64_t v) { set_choice(*this, "groups", v); }
std::int64_t IConvolutionLayer::getNbGroups() const {
  return choice<std::int64_t>(*this, "groups");
}
void IConvolutionLayer::setKernelWeights(Weights v) { set_weights(*this, "kernel", v); }
Weights IConvolutionLayer::getKernelWeights() const { return weights(*this, "kernel"); }
void IConvolutionLayer::setBiasWeights(Weights v) { set_weights(*this, "bias", v); }
Weights IConvolutionLayer::getBiasWeights() const { return weights(*this, "bias"); }
void IConvolutionLayer::setKernelSizeNd(const Dims& v) { set_dims(*this, "kernel_size", v); }
Dims IConvolutionLayer::getKernelSizeNd() const { return dims(*this, "kernel_size"); }
void IConvolutionLayer::setStrideNd(const Dims& v) { set_dims(*this, "stride", v); }
Dims IConvolutionLayer::getStrideNd() const {
  return window_dims(*this, "stride", "kernel_size", 1);
}
void IConvolutionLayer::setPrePadding(const Dims& v) { set_dims(*this, "pre_padding", v); }
Dims IConvolutionLayer::getPrePadding() const {
  return window_dims(*this, "pre_padding", "kernel_size", 0);
}
void IConvolutionLayer::setPostPadding(const Dims& v) { set_dims(*this, "post_padding", v); }
Dims IConvolutionLayer::getPostPadding() const {
  return window_dims(*this, "post_padding", "kernel_size", 0);
}
void IConvolutionLayer::setPaddingMode(PaddingMode v) { set_choice(*this, "padding_mode", v); }
PaddingMode IConvolutionLayer::getPaddingMode() const {
  return choice<PaddingMode>(*this, "padding_mode");
}
void IConvolutionLayer::setPaddingNd(const Dims& v) {
  setPrePadding(v);
  setPostPadding(v);
}
Dims IConvolutionLayer::getPaddingNd() const { return getPrePadding(); }
void IConvolutionLayer::setDilationNd(const Dims& v) { set_dims(*this, "dilation", v); }
Dims IConvolutionLayer::getDilationNd() const {
  return window_dims(*this, "dilation", "kernel_size", 1);
}

}  // namespace rondel::network
