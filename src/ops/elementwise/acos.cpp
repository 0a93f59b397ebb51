#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry acos_op{{
    .name = "acos",
    .doc = "y = the angle whose cosine is x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::acos(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return acos(x); }),
}};

}  // namespace
}  // namespace rondel::ops
