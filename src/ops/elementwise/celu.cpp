#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

/// exp is only computed for x < 0. For large x it would overflow, also in second derivatives.
constexpr auto celu_of = [](auto& e, auto x) {
  const auto alpha = attribute(e, "alpha", x);
  return select(x < 0, alpha * expm1(min(x, literal(x, 0)) / alpha), x);
};

const ir::OpEntry celu{{
    .name = "celu",
    .doc = "y = x above zero, alpha * (exp(x / alpha) - 1) below",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(celu_of),
    .transcendental = true,
    .gradient = derivative<1>(celu_of),
}};

}  // namespace
}  // namespace rondel::ops
