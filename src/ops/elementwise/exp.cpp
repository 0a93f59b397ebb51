#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry exp_op{{
    .name = "exp",
    .doc = "y = e to the power x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::exp(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return exp(x); }),
}};

}  // namespace
}  // namespace rondel::ops
