#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex mish_of(Ex x) {
  const Ex softplus = max(x, scalar::literal(x, 0)) + log1p(exp(-abs(x)));
  return x * tanh(softplus);
}

const ir::OpEntry mish{{
    .name = "mish",
    .doc = "y = x * tanh(log(exp(x) + 1))",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(mish_of)),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return x * tanh(softplus(x)); }),
}};

}  // namespace
}  // namespace rondel::ops
