#include "ops/reductions/reduction.h"

namespace rondel::ops {
namespace {

std::vector<ir::ValueId> reduce_sum_gradient(ir::Builder& b, const ir::Node& node,
                                             std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  result[0] = b("expand", {with_reduced_axes(b, node, adjoints[0]), b("shape", {node.inputs[0]})});
  return result;
}

const ir::OpEntry reduce_sum{with_elements(
    reduce_op("reduce_sum", "y = the sum over the axes; without elements 0", require_numbers,
              {.neutral = zero, .combine = plus}, reduce_sum_gradient),
    0, [](const ir::Integer& a, const ir::Integer& b) { return a + b; })};

}  // namespace
}  // namespace rondel::ops
