#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex softplus_of(Ex x) { return max(x, scalar::literal(x, 0)) + log1p(exp(-abs(x))); }

const ir::OpEntry softplus_op{{
    .name = "softplus",
    .doc = "y = log(exp(x) + 1), without overflow",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(softplus_of)),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return softplus(x); }),
}};

}  // namespace
}  // namespace rondel::ops
