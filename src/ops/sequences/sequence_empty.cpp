#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry sequence_empty{{
    .name = "sequence_empty",
    .doc = "a sequence of no tensors, of dtype `dtype`",
    .outputs = {"sequence"},
    .attributes = {{"dtype", ir::Type::scalar(DType::f32)}},
    .type =
        [](ir::TypeContext& c) {
          c.output(
              0, ir::Type::sequence(ir::Type::unranked(dtype_attribute(c.attributes(), "dtype"))));
        },
    .meaning = unsized_kernel(
        [](const ir::Node& n, std::span<const ir::Type>) -> kernels::UnsizedKernel {
          return [dtype = dtype_attribute(n.attributes, "dtype")](kernels::UnsizedCall& call) {
            call.set(0, Sequence{dtype});
          };
        }),
}};

}  // namespace
}  // namespace rondel::ops
