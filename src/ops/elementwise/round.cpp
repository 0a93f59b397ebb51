#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry round_op{{
    .name = "round",
    .doc = "y = x rounded to the nearest integer, ties to even",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return round_even(x); }),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
