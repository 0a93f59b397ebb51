#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry asin_op{{
    .name = "asin",
    .doc = "y = the angle whose sine is x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::asin(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return asin(x); }),
}};

}  // namespace
}  // namespace rondel::ops
