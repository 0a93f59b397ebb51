#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/normalization/channels.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex normalized(Emitter& e, std::size_t, const Indices& index) {
  const Ex channel = index.size() < 2 ? e.builder().index(0) : index[1];
  const Ex x = widened(e.load(0, index));
  const auto of_channel = [&](std::size_t k) { return narrowed(x.type(), e.load(k, {channel})); };
  // A quotient of each channel, which code computes once, instead of one of each element.
  const Ex factor = of_channel(1) / sqrt(of_channel(4) + e.attributes().f("epsilon", 0));
  return narrowed(e.output_dtype(), (x - of_channel(3)) * factor + of_channel(2));
}

void channel_rule(ir::TypeContext& c) {
  Conditions conditions;
  require_channel_lists(c, conditions);
  c.output(0, c.input(0));
  conditions.state(c);
}

/// With d = 1 / sqrt(variance + epsilon): dx = dy scale d. The other adjoints are sums over all
/// axes except the channel axis. Computed in the wide dtype of x, each adjoint is rounded once.
std::vector<ir::ValueId> channel_gradient(ir::Builder& b, const ir::Node& node,
                                          std::span<const ir::ValueId> adjoints) {
  const ir::ValueId given = wide_value(b, node.inputs[0]), x = with_known_rank(b, given);
  const bool reshaped = x != given;
  const ir::ValueId wide_dy = wide_value(b, adjoints[0]);
  const ir::ValueId dy = reshaped ? with_shape_of(b, wide_dy, x) : wide_dy;
  const DType t = dtype_of(b, x);
  const ir::Type type = b.graph().value(x).type;
  ir::Ints others, channels(static_cast<std::size_t>(type.rank()), 1);
  for (std::int64_t a = 0; a < type.rank(); ++a)
    if (a != 1) others.push_back(a);
  if (type.rank() > 1) channels[1] = -1;
  const auto of_channel = [&](std::size_t k) {
    return as(b, b("reshape", {node.inputs[k], b.integers(channels)}), t);
  };
  const auto narrow = [&](ir::ValueId v, std::size_t k) {
    return as(b, v, dtype_of(b, node.inputs[k]));
  };
  const auto summed = [&](ir::ValueId v, std::size_t k) {
    const ir::ValueId sums = b("reduce_sum", {v, b.integers(others)}, {{"keepdims", 0}});
    return narrow(with_shape_of(b, sums, node.inputs[k]), k);
  };
  const ir::ValueId epsilon = b.scalar(t, node.attributes.f("epsilon", 0));
  const ir::ValueId d = b("reciprocal", {b("sqrt", {b("add", {of_channel(4), epsilon})})});
  const ir::ValueId normal = b("mul", {b("sub", {x, of_channel(3)}), d});
  const ir::ValueId dx = b("mul", {b("mul", {dy, of_channel(1)}), d});
  const ir::ValueId half = b("mul", {b("mul", {dx, normal}), b("mul", {d, b.scalar(t, -0.5)})});
  return {narrow(reshaped ? with_shape_of(b, dx, given) : dx, 0), summed(b("mul", {dy, normal}), 1),
          summed(dy, 2), summed(b("neg", {dx}), 3), summed(half, 4)};
}

const ir::OpEntry channel_normalization{{
    .name = "channel_normalization",
    .doc = "y = (x - mean) * (scale / sqrt(variance + epsilon)) + bias, channel by channel",
    .inputs = {{"x"}, {"scale"}, {"bias"}, {"mean"}, {"variance"}},
    .attributes = {{"epsilon", 1e-5F}},
    .type = floats_only(channel_rule),
    .meaning = elements(normalized),
    .in_place = {0},
    .batch = merged_into_first_axis,
    .gradient = channel_gradient,
}};

}  // namespace
}  // namespace rondel::ops
