#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry floor_op{{
    .name = "floor",
    .doc = "y = the largest integer not above x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::floor(x); }),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
