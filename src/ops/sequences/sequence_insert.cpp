#include "base/error.h"
#include "ops/sequences/sequence_gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void insert_rule(ir::TypeContext& c) {
  const ir::Type& element = element_type(c, 0);
  require_tensor(c, 1);
  require(c.input(1).dtype() == element.dtype(), "a {} goes into a sequence of {}",
          name(c.input(1).dtype()), name(element.dtype()));
  if (c.has(2)) require_position(c, 2);
  c.output(0, ir::Type::sequence(*join(element, c.input(1))));
}

void insert(kernels::UnsizedCall& call) {
  const std::size_t size = call.value(0).sequence().size();
  const std::size_t at = call.has(2) ? position_in(call.value(2), size, true) : size;
  const DType dtype = call.value(0).sequence().dtype;
  const Items items = items_to_change(call, std::get<Sequence>(call.take(0)));
  items->insert(items->begin() + static_cast<std::ptrdiff_t>(at), call.tensor(1));
  call.set(0, Sequence{dtype, items});
}

std::vector<ir::ValueId> insert_gradient(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::ValueId> adjoints) {
  const ir::ValueId d = adjoints[0];
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  if (!has_input(node, 2)) {
    result[0] = b("sequence_erase", {d});
    result[1] = adjoint_at(b, d, b.scalar(std::int64_t{-1}), node.inputs[1]);
    return result;
  }
  const ir::ValueId at = position_from_front(b, node.inputs[2], node.inputs[0]);
  result[0] = b("sequence_erase", {d, at});
  result[1] = adjoint_at(b, d, at, node.inputs[1]);
  return result;
}

const ir::OpEntry sequence_insert{{
    .name = "sequence_insert",
    .doc = "the sequence with a tensor put before a position, or last",
    .inputs = {{"sequence"}, {"tensor"}, {"position", ir::InputDef::optional}},
    .outputs = {"sequence"},
    .type = insert_rule,
    .meaning = plain_kernel(insert),
    .can_fail = true,
    .gradient = insert_gradient,
}};

}  // namespace
}  // namespace rondel::ops
