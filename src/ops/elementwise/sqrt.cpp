#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry sqrt_op{{
    .name = "sqrt",
    .doc = "y = the square root of x; NaN below zero",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::sqrt(x); }),
    .gradient = derivative<1>([](auto&, auto x) { return sqrt(x); }),
}};

}  // namespace
}  // namespace rondel::ops
