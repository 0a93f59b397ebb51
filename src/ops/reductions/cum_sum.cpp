#include "ops/gradients.h"
#include "ops/reductions/running.h"

namespace rondel::ops {
namespace {

/// The adjoint of x is the cumulative sum of the result's adjoint in the opposite direction.
std::vector<ir::ValueId> cum_sum_gradient(ir::Builder& b, const ir::Node& node,
                                          std::span<const ir::ValueId> adjoints) {
  ir::Attributes attributes = node.attributes;
  attributes.set("reverse", attributes.flag("reverse") ? 0 : 1);
  return {b("cum_sum", {adjoints[0], node.inputs[1]}, std::move(attributes)), ir::ValueId::none};
}

const ir::OpEntry cum_sum{running_op(
    "cum_sum", "y = the sums of the elements so far along the axis", 0,
    [](Ex a, Ex b) { return a + b; }, cum_sum_gradient)};

}  // namespace
}  // namespace rondel::ops
