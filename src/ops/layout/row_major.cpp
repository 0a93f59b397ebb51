#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry row_major{{
    .name = "row_major",
    .doc = "y = x, stored row by row: for values that are read often and may be views",
    .inputs = {{"x"}},
    .type = with_dtypes({DType::f32, DType::f64, DType::f16, DType::bf16, DType::i64, DType::i32,
                         DType::i16, DType::i8, DType::u64, DType::u32, DType::u16, DType::u8},
                        same_as_first),
    .meaning = elementwise([](Ex x) { return x; }),
    .gradient = [](ir::Builder&, const ir::Node&, std::span<const ir::ValueId> adjoints)
        -> std::vector<ir::ValueId> { return {adjoints[0]}; },
}};

}  // namespace
}  // namespace rondel::ops
