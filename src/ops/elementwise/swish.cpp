#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

constexpr auto swish_of = [](auto& e, auto x) { return x * sigmoid(attribute(e, "alpha", x) * x); };

const ir::OpEntry swish{{
    .name = "swish",
    .doc = "y = x * sigmoid(alpha * x)",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(swish_of),
    .transcendental = true,
    .gradient = derivative<1>(swish_of),
}};

}  // namespace
}  // namespace rondel::ops
