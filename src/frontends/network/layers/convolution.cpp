#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kCONVOLUTION, "Convolution", 3, nullptr}};

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
Dims IConvolutionLayer::getStrideNd() const { return dims(*this, "stride"); }
void IConvolutionLayer::setPrePadding(const Dims& v) { set_dims(*this, "pre_padding", v); }
Dims IConvolutionLayer::getPrePadding() const { return dims(*this, "pre_padding"); }
void IConvolutionLayer::setPostPadding(const Dims& v) { set_dims(*this, "post_padding", v); }
Dims IConvolutionLayer::getPostPadding() const { return dims(*this, "post_padding"); }
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
Dims IConvolutionLayer::getDilationNd() const { return dims(*this, "dilation"); }

}  // namespace rondel::network
