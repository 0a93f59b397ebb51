#include "base/error.h"
#include "ops/sequences/sequence_gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void construct_rule(ir::TypeContext& c) {
  require(c.input_count() > 0, "a sequence is made of at least one tensor");
  std::optional<ir::Type> element;
  for (std::size_t k = 0; k < c.input_count(); ++k) {
    require_tensor(c, k);
    require_same_dtype(c, 0, k);
    element = element ? *join(*element, c.input(k)) : c.input(k);
  }
  c.output(0, ir::Type::sequence(*element));
}

void construct(kernels::UnsizedCall& call) {
  std::vector<Tensor> items;
  for (std::size_t k = 0; k < call.input_count(); ++k) items.push_back(call.tensor(k));
  call.set(0, Sequence{call.tensor(0).dtype(),
                       std::make_shared<const std::vector<Tensor>>(std::move(items))});
}

std::vector<ir::ValueId> construct_gradient(ir::Builder& b, const ir::Node& node,
                                            std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result;
  for (std::size_t k = 0; k < node.inputs.size(); ++k)
    result.push_back(
        adjoint_at(b, adjoints[0], b.scalar(static_cast<std::int64_t>(k)), node.inputs[k]));
  return result;
}

const ir::OpEntry sequence_construct{{
    .name = "sequence_construct",
    .doc = "the sequence of the inputs",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .outputs = {"sequence"},
    .type = construct_rule,
    .meaning = plain_kernel(construct),
    .gradient = construct_gradient,
}};

}  // namespace
}  // namespace rondel::ops
