#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void length(kernels::UnsizedCall& call) {
  const Tensor n = call.make(0, DType::i64, {});
  *n.data_as<std::int64_t>() = static_cast<std::int64_t>(call.value(0).sequence().size());
}

const ir::OpEntry sequence_length{{
    .name = "sequence_length",
    .doc = "the number of tensors of a sequence",
    .inputs = {{"sequence"}},
    .outputs = {"length"},
    .type =
        [](ir::TypeContext& c) {
          element_type(c, 0);
          c.output(0, ir::Type::scalar(DType::i64));
        },
    .meaning = plain_kernel(length),
}};

}  // namespace
}  // namespace rondel::ops
