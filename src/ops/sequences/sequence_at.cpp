#include "ops/sequences/sequence_gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void at_rule(ir::TypeContext& c) {
  require_position(c, 1);
  c.output(0, element_type(c, 0));
}

void at(kernels::UnsizedCall& call) {
  const Sequence& items = call.value(0).sequence();
  call.set(0, (*items.items)[position_in(call.value(1), items.size(), false)]);
}

std::vector<ir::ValueId> at_gradient(ir::Builder& b, const ir::Node& node,
                                     std::span<const ir::ValueId> adjoints) {
  const ir::ValueId sequence = node.inputs[0];
  const ir::ValueId at = position_from_front(b, node.inputs[1], sequence);
  return {b("lone_in_sequence", {sequence, at, adjoints[0]}), ir::ValueId::none};
}

const ir::OpEntry sequence_at{{
    .name = "sequence_at",
    .doc = "the tensor at a position of a sequence",
    .inputs = {{"sequence"}, {"position"}},
    .outputs = {"tensor"},
    .type = at_rule,
    .meaning = plain_kernel(at),
    .can_fail = true,
    .gradient = at_gradient,
}};

}  // namespace
}  // namespace rondel::ops
