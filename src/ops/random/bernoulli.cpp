#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// ONNX defines the op by a text and by a function body, which disagree. The body gives 1 if the
/// draw is above p, that is, with probability 1 - p. This implementation follows the text.
std::vector<ValueId> drawn_bernoulli(ir::Builder& b, const ir::Node& node) {
  const ValueId p = wide_value(b, node.inputs[0]);
  const DType t = dtype_of(b, p);
  const ValueId u = b("uniform",
                      {draw_key(b, node), b.scalar(t, 0), b.scalar(t, 1), ValueId::none, p});
  return {as(b, b("less", {u, p}), drawn_dtype(node.attributes, dtype_of(b, node.inputs[0])))};
}

void bernoulli_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  c.output(0, with_dtype(c.input(0), drawn_dtype(c.attributes(), c.input(0).dtype())));
}

const ir::OpEntry bernoulli{{
    .name = "bernoulli",
    .doc = "y = 1 with the probability p, else 0",
    .inputs = {{"p"}},
    .attributes = {{"dtype", ir::Type()}, {"seed", no_seed()}},
    .type = bernoulli_rule,
    .meaning = composite(drawn_bernoulli),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
