#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

/// exp is only computed for x < 0. For large x it would overflow, also in second derivatives.
constexpr auto selu_of = [](auto& e, auto x) {
  const auto gamma = attribute(e, "gamma", x);
  return gamma * select(x < 0, attribute(e, "alpha", x) * expm1(min(x, literal(x, 0))), x);
};

const ir::OpEntry selu{{
    .name = "selu",
    .doc = "y = gamma * x above zero, gamma * alpha * (exp(x) - 1) below",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.67326319217681884765625}, {"gamma", 1.05070102214813232421875}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(selu_of),
    .transcendental = true,
    .gradient = derivative<1>(selu_of),
}};

}  // namespace
}  // namespace rondel::ops
