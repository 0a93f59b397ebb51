#include "ops/gradients.h"
#include "ops/sequences/sequence_gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void erase_rule(ir::TypeContext& c) {
  element_type(c, 0);
  if (c.has(1)) require_position(c, 1);
  c.output(0, c.input(0));
}

void erase(kernels::UnsizedCall& call) {
  const std::size_t size = call.value(0).sequence().size();
  const Value last = Tensor::scalar<std::int64_t>(-1);
  const std::size_t at = position_in(call.has(1) ? call.value(1) : last, size, false);
  const DType dtype = call.value(0).sequence().dtype;
  const Items items = items_to_change(call, std::get<Sequence>(call.take(0)));
  items->erase(items->begin() + static_cast<std::ptrdiff_t>(at));
  call.set(0, Sequence{dtype, items});
}

/// The adjoint of the erased tensor is zeros.
std::vector<ir::ValueId> erase_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  const ir::ValueId sequence = node.inputs[0];
  const bool last = !has_input(node, 1);
  const ir::ValueId given = last ? b.scalar(std::int64_t{-1}) : node.inputs[1];
  std::vector<ir::ValueId> operands{adjoints[0],
                                    zeros_like(b, b("sequence_at", {sequence, given}))};
  if (!last) operands.push_back(position_from_front(b, given, sequence));
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  result[0] = b("sequence_insert", std::move(operands));
  return result;
}

const ir::OpEntry sequence_erase{{
    .name = "sequence_erase",
    .doc = "the sequence without the tensor at a position, or the last one",
    .inputs = {{"sequence"}, {"position", ir::InputDef::optional}},
    .outputs = {"sequence"},
    .type = erase_rule,
    .meaning = plain_kernel(erase),
    .can_fail = true,
    .gradient = erase_gradient,
}};

}  // namespace
}  // namespace rondel::ops
