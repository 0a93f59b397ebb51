#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry sinh_op{{
    .name = "sinh",
    .doc = "y = the hyperbolic sine of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::sinh(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return sinh(x); }),
}};

}  // namespace
}  // namespace rondel::ops
