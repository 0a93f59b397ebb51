#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry tan_op{{
    .name = "tan",
    .doc = "y = the tangent of x (radians)",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::tan(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return tan(x); }),
}};

}  // namespace
}  // namespace rondel::ops
