#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> inference_of(ir::Builder& b, const ir::Node& node) {
  const ValueId x = node.inputs[0];
  const bool asked = node.inputs.size() > 2 && node.inputs[2] != ValueId::none;
  const Tensor* training = asked ? b.graph().constant(node.inputs[2]) : nullptr;
  if (asked && (training == nullptr || *training->data_as<bool>()))
    unsupported("dropout in training mode; supported: training_mode left out or a constant false");
  if (node.outputs.size() < 2 || node.outputs[1] == ValueId::none) return {x, ValueId::none};
  const Tensor all = Tensor::from<bool>({1}, {true});
  return {x, b("constant_of_shape", {b("shape", {x})}, {{"value", all}})};
}

void dropout_rule(ir::TypeContext& c) {
  same_as_first(c);
  if (c.output_count() > 1) c.output(1, with_dtype(c.input(0), DType::boolean));
}

const ir::OpEntry dropout{{
    .name = "dropout",
    .doc = "y = x, and a mask that keeps everything: dropout at inference",
    .inputs = {{"x"}, {"ratio", ir::InputDef::optional}, {"training_mode", ir::InputDef::optional}},
    .outputs = {"y", "mask"},
    .attributes = {{"seed", 0}},
    .type = dropout_rule,
    .meaning = composite(inference_of),
}};

}  // namespace
}  // namespace rondel::ops
