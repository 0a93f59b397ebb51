#include "ops/compose.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

std::vector<ir::ValueId> drawn_normal(ir::Builder& b, const ir::Node& node) {
  const ir::Attributes& a = node.attributes;
  const DType t = drawn_dtype(a, DType::f32);
  return {b("normal", {draw_key(b, node), b.scalar(t, a.f("mean", 0)), b.scalar(t, a.f("scale", 1)),
                       b.integers(a.ints("shape"))})};
}

void random_normal_rule(ir::TypeContext& c) {
  const DType t = drawn_dtype(c.attributes(), DType::f32);
  require(is_float(t) && !is_small_float(t), "there are no random numbers of type {}", name(t));
  const ir::Ints shape = c.attributes().ints("shape");
  for (const std::int64_t n : shape) require(n >= 0, "extent {} is negative", n);
  c.output(0, ir::Type::tensor(t, std::span<const std::int64_t>(shape)));
}

const ir::OpEntry random_normal{{
    .name = "random_normal",
    .doc = "y = random numbers of the normal distribution with mean and standard deviation",
    .inputs = {},
    .attributes = {{"dtype", ir::Type::scalar(DType::f32)},
                   {"mean", 0.0},
                   {"scale", 1.0},
                   {"seed", no_seed()}},
    .required = {"shape"},
    .type = random_normal_rule,
    .meaning = composite(drawn_normal),
    .random = true,
}};

}  // namespace
}  // namespace rondel::ops
