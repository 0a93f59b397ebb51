#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry atan_op{{
    .name = "atan",
    .doc = "y = the angle whose tangent is x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::atan(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return atan(x); }),
}};

}  // namespace
}  // namespace rondel::ops
