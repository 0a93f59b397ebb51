#include "ops/reduction.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reduce_prod{with_elements(
    reduce_op(
        "reduce_prod", "y = the product over the axes; without elements 1", require_numbers,
        {.neutral = [](scalar::Builder& b, DType t) { return b.constant(t, std::int64_t{1}); },
         .combine = [](Ex a, Ex b) { return a * b; }}),
    1, [](const ir::Integer& a, const ir::Integer& b) { return a * b; })};

}  // namespace
}  // namespace rondel::ops
