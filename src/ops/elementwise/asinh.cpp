#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry asinh_op{{
    .name = "asinh",
    .doc = "y = the inverse hyperbolic sine of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::asinh(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return asinh(x); }),
}};

}  // namespace
}  // namespace rondel::ops
