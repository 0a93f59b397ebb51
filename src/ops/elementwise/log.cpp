#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry log_op{{
    .name = "log",
    .doc = "y = the natural logarithm of x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::log(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return log(x); }),
}};

}  // namespace
}  // namespace rondel::ops
