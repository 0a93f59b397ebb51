#include "base/error.h"
#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

constexpr auto gelu_of = [](auto& e, auto x) {
  if (e.attributes().s("approximate", "none") == "none")
    return 0.5 * x * (1 + erf(x * 0.70710678118654752440));
  const auto inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1 + tanh(inner));
};

void gelu_rule(ir::TypeContext& c) {
  const std::string how = c.attributes().s("approximate", "none");
  require(how == "none" || how == "tanh", "approximate is '{}'; expected 'none' or 'tanh'", how);
  same_as_first(c);
}

const ir::OpEntry gelu{{
    .name = "gelu",
    .doc = "y = x / 2 * (1 + erf(x / sqrt(2))), or its tanh approximation",
    .inputs = {{"x"}},
    .attributes = {{"approximate", "none"}},
    .type = floats_only(gelu_rule),
    .meaning = formula<1>(gelu_of),
    .transcendental = true,
    .gradient = derivative<1>(gelu_of),
}};

}  // namespace
}  // namespace rondel::ops
