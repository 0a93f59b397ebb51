#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/normalization/channels.h"
#include "ops/reductions/reduction.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// Writes one channel of one sample.
void write_channel(Emitter& e, Ex sample, Ex channel, const std::vector<Ex>& spatial, Ex count) {
  scalar::Builder& b = e.builder();
  const DType t = scalar::compute_type(e.dtype(0));
  const auto element = [&](Ex i) {
    Indices index = unravel(i, spatial);
    index.insert(index.begin(), {sample, channel});
    return widened(e.load(0, index));
  };
  const Fold sum{.neutral = zero, .combine = plus};
  const Ex n = cast(t, count);
  const Ex mean = fold(b, sum, count, t, element) / n;
  const auto squared = [&](Ex i) {
    const Ex d = element(i) - mean;
    return d * d;
  };
  const Ex variance = fold(b, sum, count, t, squared) / n;
  const Ex deviation = sqrt(variance + e.attributes().f("epsilon", 0));
  const Ex scale = widened(e.load(1, {channel})), bias = widened(e.load(2, {channel}));
  b.for_all(spatial, [&](const Indices& inner) {
    Indices index = inner;
    index.insert(index.begin(), {sample, channel});
    const Ex y = (widened(e.load(0, index)) - mean) / deviation * scale + bias;
    e.store(0, index, narrowed(e.output_dtype(), y));
  });
}

void write_all(Emitter& e) {
  std::vector<Ex> spatial;
  Ex count = e.builder().index(1);
  for (std::int64_t a = 2; a < e.rank(0); ++a) {
    spatial.push_back(e.extent(0, a));
    count = count * spatial.back();
  }
  e.builder().for_all({e.extent(0, 0), e.extent(0, 1)},
                      [&](const Indices& at) { write_channel(e, at[0], at[1], spatial, count); });
}

void instance_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require(!x.has_rank() || x.rank() >= 3, "input 0 is {}; expected [n, channels, spatial...]",
          to_text(x));
  for (std::size_t k : {1U, 2U}) {
    require_rank(c, k, 1);
    if (!x.has_rank() || !c.input(k).has_rank()) continue;
    const std::int64_t n = c.input(k).extent(0).value, channels = x.extent(1).value;
    require(n < 0 || channels < 0 || n == channels, "input {} has {} elements for {} channels", k,
            n, channels);
  }
  c.output(0, x);
}

/// With z = (x - mean) / deviation and g = dy scale: dx = (g - mean(g) - z mean(g z)) / deviation.
/// Computed in wide floats, each adjoint is rounded once.
std::vector<ir::ValueId> instance_gradient(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::ValueId> adjoints) {
  const ir::ValueId given = wide_value(b, node.inputs[0]), x = with_known_rank(b, given);
  const bool reshaped = x != given;
  const ir::ValueId wide_dy = wide_value(b, adjoints[0]);
  const ir::ValueId dy = reshaped ? with_shape_of(b, wide_dy, x) : wide_dy;
  const ir::Type type = b.graph().value(x).type;
  ir::Ints spatial, all{0}, channels{-1};
  for (std::int64_t a = 2; a < type.rank(); ++a) {
    spatial.push_back(a);
    all.push_back(a);
    channels.push_back(1);
  }
  const auto mean = [&](ir::ValueId v) { return reduce_kept(b, "reduce_mean", v, spatial); };
  const auto summed = [&](ir::ValueId v) {
    return b("reduce_sum", {v, b.integers(all)}, {{"keepdims", 0}});
  };
  const ir::ValueId off = b("sub", {x, mean(x)});
  const ir::ValueId epsilon = b.scalar(dtype_of(b, x), node.attributes.f("epsilon", 0));
  const ir::ValueId deviation = b("sqrt", {b("add", {mean(b("mul", {off, off})), epsilon})});
  const ir::ValueId z = b("div", {off, deviation});
  const ir::ValueId g = b(
      "mul", {dy, b("reshape", {wide_value(b, node.inputs[1]), b.integers(channels)})});
  const ir::ValueId along = b("mul", {z, mean(b("mul", {g, z}))});
  const ir::ValueId dx = b("div", {b("sub", {b("sub", {g, mean(g)}), along}), deviation});
  const auto narrow = [&](ir::ValueId v, std::size_t k) {
    return as(b, v, dtype_of(b, node.inputs[k]));
  };
  return {narrow(reshaped ? with_shape_of(b, dx, given) : dx, 0),
          narrow(summed(b("mul", {dy, z})), 1), narrow(summed(dy), 2)};
}

const ir::OpEntry instance_normalization{{
    .name = "instance_normalization",
    .doc = "y = (x - mean) / deviation * scale + bias, separately for each channel and sample",
    .inputs = {{"x"}, {"scale"}, {"bias"}},
    .attributes = {{"epsilon", 1e-5F}},
    .type = floats_only(instance_rule),
    .meaning = nest(write_all),
    .in_place = {0},
    .batch = merged_into_first_axis,
    .gradient = instance_gradient,
}};

}  // namespace
}  // namespace rondel::ops
