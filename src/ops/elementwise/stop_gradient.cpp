#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry stop_gradient{{
    .name = "stop_gradient",
    .doc = "y = x, through which no gradient flows",
    .inputs = {{"x"}},
    .type = with_dtypes({DType::f32, DType::f64, DType::f16, DType::bf16}, same_as_first),
    .meaning = elementwise([](Ex x) { return x; }),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
