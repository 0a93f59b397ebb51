#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

std::vector<ir::ValueId> drawn_normal_like(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  const DType t = drawn_dtype(a, dtype_of(b, node.inputs[0]));
  return {b("normal", {draw_key(b, node), b.scalar(t, a.f("mean", 0)), b.scalar(t, a.f("scale", 1)),
                       ir::ValueId::none, node.inputs[0]})};
}

void random_normal_like_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType t = drawn_dtype(c.attributes(), c.input(0).dtype());
  require(is_float(t) && !is_small_float(t), "there are no random numbers of type {}; give dtype?",
          name(t));
  c.output(0, with_dtype(c.input(0), t));
}

const ir::OpEntry random_normal_like{{
    .name = "random_normal_like",
    .doc = "y = random numbers of the normal distribution with mean and standard deviation, of "
           "the shape of x",
    .inputs = {{"x"}},
    .attributes = {{"dtype", ir::Type()}, {"mean", 0.0}, {"scale", 1.0}, {"seed", no_seed()}},
    .type = random_normal_like_rule,
    .meaning = composite(drawn_normal_like),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
