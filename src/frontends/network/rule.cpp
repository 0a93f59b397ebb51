#include "frontends/network/rule.h"

#include "base/axis.h"
#include "base/error.h"

#include <map>

namespace rondel::network {
namespace {

std::map<LayerType, LayerKind>& kinds() {
  static std::map<LayerType, LayerKind> all;
  return all;
}

}  // namespace

KindEntry::KindEntry(LayerKind k) {
  invariant(kinds().emplace(k.type, k).second, "two kinds of layer {}", k.name);
}

const LayerKind& kind(LayerType t) {
  const auto it = kinds().find(t);
  invariant(it != kinds().end(), "no kind of layer {}", static_cast<int>(t));
  return it->second;
}

ValueId Lowering::in(std::size_t k) const {
  require(has(k), "its input {} is not set", k);
  return inputs_[k];
}

ValueId Lowering::integers(std::size_t k, const char* what) const {
  require(is_integer(dtype(in(k))), "its input {}, {}, is {}; expected integers", k, what,
          to_text(type(in(k))));
  return cast(in(k), DType::i64);
}

std::int64_t Lowering::rank(ValueId v) const {
  require(type(v).is_tensor() && type(v).has_rank(),
          "the number of axes of an operand is not known: {}", to_text(type(v)));
  return type(v).rank();
}

std::int64_t Lowering::axis(std::int64_t axis, std::int64_t rank) const {
  require(has_axis(axis, rank), "axis {} of a tensor of {} axes", axis, rank);
  return axis_from_front(axis, rank);
}

ir::Ints Lowering::axes_of_mask(const char* parameter, std::int64_t rank) const {
  const auto mask = static_cast<std::uint64_t>(layer.parameters.i(parameter));
  ir::Ints axes;
  for (std::int64_t a = 0; a < 32; ++a)
    if ((mask >> a & 1U) != 0) axes.push_back(a);
  require(axes.empty() || axes.back() < rank,
          "axes 0x{:x} has bit {} set, for axis {}, and the tensor has {} axes", mask,
          axes.empty() ? 0 : axes.back(), axes.empty() ? 0 : axes.back(), rank);
  return axes;
}

ValueId Lowering::cast(ValueId v, DType to) const {
  return dtype(v) == to ? v : b("cast", {v}, {{"to", ir::Type::scalar(to)}});
}

std::vector<ValueId> apply_rule(ir::Builder& b, const LayerData& layer,
                                std::span<const ValueId> inputs) {
  const std::string where = describe(layer);
  b.source(where);
  try {
    const LayerKind& k = kind(layer.type);
    if (k.rule == nullptr) unsupported("this kind of layer is not there yet");
    Lowering lowering(b, layer, inputs);
    std::vector<ValueId> outputs = k.rule(lowering);
    invariant(outputs.size() == layer.outputs.size(), "its rule gives {} outputs", outputs.size());
    for (std::size_t j = 0; j < outputs.size(); ++j)
      if (layer.output_types[j])
        outputs[j] = lowering.cast(outputs[j], dtype(*layer.output_types[j]));
    return outputs;
  } catch (const Error& e) {
    if (!e.frames().empty() && e.frames().front().source == where) throw;
    throw e.within(where);
  }
}

}  // namespace rondel::network
