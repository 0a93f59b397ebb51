#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

std::vector<ir::ValueId> drawn_uniform_like(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  const DType t = drawn_dtype(a, dtype_of(b, node.inputs[0]));
  return {b("uniform", {draw_key(b, node), b.scalar(t, a.f("low", 0)), b.scalar(t, a.f("high", 1)),
                        ir::ValueId::none, node.inputs[0]})};
}

void random_uniform_like_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType t = drawn_dtype(c.attributes(), c.input(0).dtype());
  require(is_float(t) && !is_small_float(t), "there are no random numbers of type {}; give dtype?",
          name(t));
  c.output(0, with_dtype(c.input(0), t));
}

const ir::OpEntry random_uniform_like{{
    .name = "random_uniform_like",
    .doc = "y = random numbers drawn evenly from [low, high), of the shape of x",
    .inputs = {{"x"}},
    .attributes = {{"dtype", ir::Type()}, {"low", 0.0}, {"high", 1.0}, {"seed", no_seed()}},
    .type = random_uniform_like_rule,
    .meaning = composite(drawn_uniform_like),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
