#include "ops/gradients.h"
#include "ops/sequences/sequence_gradients.h"
#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> zeros_but_one(ir::Builder& b, const ir::Node& node) {
  const ValueId zeros = zeros_like(b, node.inputs[0]), position = node.inputs[1];
  const ValueId others = b("sequence_erase", {zeros, position});
  return {b("sequence_insert", {others, node.inputs[2], position})};
}

void lone_rule(ir::TypeContext& c) {
  c.output(0, ir::Type::sequence(ir::Type::unranked(element_type(c, 0).dtype())));
}

/// The adjoint of a sequence of which one tensor is read. It is an op of its own so that
/// `sum_of_adjoints` can recognise it: adding it to another sequence takes one addition.
const ir::OpEntry lone_in_sequence{{
    .name = "lone_in_sequence",
    .doc = "a sequence of zeros, as many and as large as the tensors of another, but for the "
           "tensor at a position, which counts from the front",
    .inputs = {{"like"}, {"position"}, {"tensor"}},
    .outputs = {"sequence"},
    .type = lone_rule,
    .meaning = composite(zeros_but_one),
}};

}  // namespace
}  // namespace rondel::ops
