#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry sin_op{{
    .name = "sin",
    .doc = "y = the sine of x (radians)",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::sin(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return sin(x); }),
}};

}  // namespace
}  // namespace rondel::ops
