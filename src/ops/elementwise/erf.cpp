#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry erf_op{{
    .name = "erf",
    .doc = "y = the error function of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::erf(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return erf(x); }),
}};

}  // namespace
}  // namespace rondel::ops
