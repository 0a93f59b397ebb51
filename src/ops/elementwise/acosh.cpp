#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry acosh_op{{
    .name = "acosh",
    .doc = "y = the inverse hyperbolic cosine of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::acosh(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return acosh(x); }),
}};

}  // namespace
}  // namespace rondel::ops
