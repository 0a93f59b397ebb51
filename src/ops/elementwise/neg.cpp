#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry neg{{
    .name = "neg",
    .doc = "y = -x; the least integer is unchanged",
    .inputs = {{"x"}},
    .type = with_dtypes({DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
                         DType::i16, DType::i8},
                        same_as_first),
    .meaning = elementwise([](Ex x) { return -x; }),
    .gradient = derivative<1>([](auto&, auto x) { return -x; }),
}};

}  // namespace
}  // namespace rondel::ops
