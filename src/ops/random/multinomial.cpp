#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Draws with the cumulative sums of exp(logits - greatest logit), which are not normalized to 1.
std::vector<ValueId> drawn_classes(ir::Builder& b, const ir::Node& node) {
  const ValueId logits = wide_value(b, node.inputs[0]);
  const ValueId top = reduce_kept(b, "reduce_max", logits, {1});
  const ValueId sums = b("cum_sum",
                         {b("exp", {b("sub", {logits, top})}), b.scalar(std::int64_t{1})});
  return {b("sampled_index", {sums, draw_key(b, node)},
            {{"count", node.attributes.i("sample_size", 1)},
             {"dtype", ir::Type::scalar(drawn_dtype(node.attributes, DType::i32))}})};
}

void multinomial_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  require_rank(c, 0, 2);
  const DType t = drawn_dtype(c.attributes(), DType::i32);
  require(t == DType::i32 || t == DType::i64, "dtype is {}; expected i32 or i64", name(t));
  const std::int64_t count = c.attributes().i("sample_size", 1);
  require(count >= 0, "sample_size is {}", count);
  const ir::Type& x = c.input(0);
  c.output(0, ir::Type::tensor(t, {x.has_rank() ? x.extent(0) : ir::Extent(), count}));
}

const ir::OpEntry multinomial{{
    .name = "multinomial",
    .doc = "y[b] = classes drawn with the probabilities whose logarithms are x[b] + some constant",
    .inputs = {{"x"}},
    .attributes = {{"dtype", ir::Type::scalar(DType::i32)},
                   {"sample_size", 1},
                   {"seed", no_seed()}},
    .type = multinomial_rule,
    .meaning = composite(drawn_classes),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
