#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

struct Affine {
  ValueId scale, bias;
};

/// (x - mean) / sqrt(variance + epsilon) * scale + bias over the axes.
ValueId normalized(Lowering& l, ValueId x, const ir::Ints& over, const Affine* affine) {
  ir::Builder& b = l.b;
  const DType t = l.dtype(x);
  const ValueId axes = b.integers(over);
  const auto mean = [&](ValueId v) { return b("reduce_mean", {v, axes}, {{"keepdims", 1}}); };
  const ValueId centred = b("sub", {x, mean(x)});
  const ValueId variance = mean(b("mul", {centred, centred}));
  const ValueId epsilon = b.scalar(t, l.parameters().f("epsilon", 0));
  const ValueId y = b("div", {centred, b("sqrt", {b("add", {variance, epsilon})})});
  return affine == nullptr ? y : b("add", {b("mul", {y, affine->scale}), affine->bias});
}

/// Checks scale or bias: it has the input's axes, each with the input's extent or 1. Axis 1 may
/// also have one element per group.
void require_fits(Lowering& l, ValueId v, const char* what, std::int64_t groups) {
  const ir::Type &x = l.type(l.in(0)), &t = l.type(v);
  bool fits = l.rank(v) == x.rank();
  for (std::int64_t a = 0; fits && a < x.rank(); ++a) {
    const ir::Extent &n = t.extent(a), &whole = x.extent(a);
    if (n.known() && n.value != 1 && whole.known())
      fits = n.value == whole.value || (a == 1 && n.value == groups);
  }
  require(fits, "the {} is {}; expected {} axes, each of extent 1 or that of {}", what, to_text(t),
          x.rank(), to_text(x));
}

/// Splits the channels into two axes: groups, and channels per group.
ValueId split(Lowering& l, ValueId x, std::int64_t groups) {
  const ir::Extent& channels = l.type(x).extent(1);
  const std::int64_t each = channels.known() ? channels.value / groups : -1;
  const ValueId shape = l.b("concat",
                            {l.b("shape", {x}, {{"end", 1}}), l.b.integers({groups, each}),
                             l.b("shape", {x}, {{"start", 2}})},
                            {{"axis", 0}});
  return l.b("reshape", {x, shape}, {{"allowzero", std::int64_t{each >= 0}}});
}

/// Whether a scale or bias has one value per group (TensorRT's first version of the layer) rather
/// than one per channel.
bool one_per_group(Lowering& l, ValueId v, std::int64_t groups) {
  const ir::Extent &n = l.type(v).extent(1), &channels = l.type(l.in(0)).extent(1);
  return l.parameters().i("v2") == 0 && n.known() && n.value == groups &&
         !(channels.known() && channels.value == groups);
}

ValueId by_groups(Lowering& l, ValueId x, const ir::Ints& axes, Affine affine,
                  std::int64_t groups) {
  const ir::Type type = l.type(x);
  require(std::ssize(axes) == type.rank() - 2 && (axes.empty() || axes[0] == 2),
          "{} groups need all axes behind the channels, which are axis 1, and no others", groups);
  const ir::Extent& channels = type.extent(1);
  require(!channels.known() || channels.value % groups == 0,
          "{} channels do not divide into {} groups", channels.value, groups);
  ir::Ints over;
  for (std::int64_t a = 2; a <= type.rank(); ++a) over.push_back(a);
  const ValueId shape = l.b("shape", {x});
  const bool grouped = one_per_group(l, affine.scale, groups);
  require(grouped == one_per_group(l, affine.bias, groups),
          "scale is {} and bias {}; expected one value per group or one per channel in both",
          to_text(l.type(affine.scale)), to_text(l.type(affine.bias)));
  const ValueId two = l.b.integers({2});
  if (grouped)
    affine = {l.b("unsqueeze", {affine.scale, two}), l.b("unsqueeze", {affine.bias, two})};
  const ValueId y = normalized(l, split(l, x, groups), over, grouped ? &affine : nullptr);
  const ValueId whole = l.b("reshape", {y, shape}, {{"allowzero", 1}});
  return grouped ? whole : l.b("add", {l.b("mul", {whole, affine.scale}), affine.bias});
}

std::vector<ValueId> lower_normalization(Lowering& l) {
  const DType own = l.dtype(l.in(0));
  const std::int64_t rank = l.rank(l.in(0)), groups = l.parameters().i("groups");
  require(is_float(own), "the input is {}; expected floats", to_text(l.type(l.in(0))));
  const ir::Ints axes = l.axes_of_mask("axes", rank);
  require(!axes.empty(), "no axis is normalized over; set a bit of the mask for each that is");
  require(groups >= 1, "{} groups; expected 1 or more", groups);
  require_fits(l, l.in(1), "scale", groups);
  require_fits(l, l.in(2), "bias", groups);
  // An f64 input is never computed in a narrower dtype.
  const DType t = own == DType::f64 ? own : dtype(l.choice<DataType>("compute_type"));
  require(is_float(t) && !is_small_float(t),
          "it computes in {}; expected a float of 16 bits and up", name(t));
  const Affine affine{l.cast(l.in(1), t), l.cast(l.in(2), t)};
  const ValueId x = l.cast(l.in(0), t);
  const ValueId y = groups == 1 ? normalized(l, x, axes, &affine)
                                : by_groups(l, x, axes, affine, groups);
  return {l.cast(y, own)};
}

const KindEntry normalization_layer{
    {LayerType::kNORMALIZATION, "Normalization", 3, lower_normalization}};

}  // namespace

INormalizationLayer* INetworkDefinition::addNormalization(ITensor& input, ITensor& scale,
                                                          ITensor& bias, std::uint32_t axesMask) {
  return add_layer<INormalizationLayer>(
      *data_, LayerType::kNORMALIZATION, {&input.data(), &scale.data(), &bias.data()},
      {{"epsilon", double{1e-5F}},
       {"axes", std::int64_t{axesMask}},
       {"groups", std::int64_t{1}},
       {"v2", std::int64_t{0}},
       {"compute_type", static_cast<std::int64_t>(DataType::kFLOAT)}});
}

INormalizationLayer* INetworkDefinition::addNormalizationV2(ITensor& input, ITensor& scale,
                                                            ITensor& bias, std::uint32_t axesMask) {
  INormalizationLayer* layer = addNormalization(input, scale, bias, axesMask);
  set_choice(*layer, "v2", 1);
  return layer;
}

bool INormalizationLayer::isV2() const { return choice<bool>(*this, "v2"); }
void INormalizationLayer::setEpsilon(float v) { set_parameter(*this, "epsilon", double{v}); }
float INormalizationLayer::getEpsilon() const {
  return static_cast<float>(data().parameters.f("epsilon", 0));
}
void INormalizationLayer::setAxes(std::uint32_t v) { set_choice(*this, "axes", v); }
std::uint32_t INormalizationLayer::getAxes() const { return choice<std::uint32_t>(*this, "axes"); }
void INormalizationLayer::setNbGroups(std::int64_t v) { set_choice(*this, "groups", v); }
std::int64_t INormalizationLayer::getNbGroups() const {
  return choice<std::int64_t>(*this, "groups");
}
void INormalizationLayer::setComputePrecision(DataType v) { set_choice(*this, "compute_type", v); }
DataType INormalizationLayer::getComputePrecision() const {
  return choice<DataType>(*this, "compute_type");
}

}  // namespace rondel::network
