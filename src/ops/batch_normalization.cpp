#include "base/error.h"
#include "ops/batching.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex normalized(Emitter& e, std::size_t, const Indices& index) {
  const Ex channel = index.size() < 2 ? e.builder().index(0) : index[1];
  const Ex x = widened(e.load(0, index));
  const auto of_channel = [&](std::size_t k) { return narrowed(x.type(), e.load(k, {channel})); };
  const Ex deviation = sqrt(of_channel(4) + e.attributes().f("epsilon", 0));
  const Ex scaled = (x - of_channel(3)) / deviation * of_channel(1);
  return narrowed(e.output_dtype(), scaled + of_channel(2));
}

void batch_rule(ir::TypeContext& c) {
  if (c.attributes().flag("training_mode"))
    unsupported("batch normalization in training mode; supported: training_mode 0");
  const ir::Type& x = c.input(0);
  Conditions conditions;
  for (std::size_t k = 1; k < 5; ++k) {
    require_rank(c, k, 1);
    if (!x.has_rank() || x.rank() < 2 || !c.input(k).has_rank()) {
      conditions.unknown();
      continue;
    }
    conditions.equal(c.input(k).extent(0), x.extent(1));
    const std::int64_t n = c.input(k).extent(0).value, channels = x.extent(1).value;
    require(n < 0 || channels < 0 || n == channels, "input {} has {} elements for {} channels", k,
            n, channels);
  }
  c.output(0, x);
  conditions.state(c);
}

const ir::OpEntry batch_normalization{{
    .name = "batch_normalization",
    .doc = "y = (x - mean) / sqrt(variance + epsilon) * scale + bias, channel by channel",
    .inputs = {{"x"}, {"scale"}, {"bias"}, {"mean"}, {"variance"}},
    .attributes = {{"epsilon", 1e-5F}, {"momentum", 0.9F}, {"training_mode", 0}},
    .type = floats_only(batch_rule),
    .meaning = elements(normalized),
    .in_place = {0},
    .batch = merged_into_first_axis,
}};

}  // namespace
}  // namespace rondel::ops
