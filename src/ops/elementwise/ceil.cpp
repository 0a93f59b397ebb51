#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry ceil_op{{
    .name = "ceil",
    .doc = "y = the smallest integer not below x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::ceil(x); }),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
