#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry cos_op{{
    .name = "cos",
    .doc = "y = the cosine of x (radians)",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::cos(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return cos(x); }),
}};

}  // namespace
}  // namespace rondel::ops
