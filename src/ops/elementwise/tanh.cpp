#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry tanh_op{{
    .name = "tanh",
    .doc = "y = the hyperbolic tangent of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::tanh(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return tanh(x); }),
}};

}  // namespace
}  // namespace rondel::ops
