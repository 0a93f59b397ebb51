#include "base/error.h"
#include "ops/gradients.h"
#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void optional_rule(ir::TypeContext& c) {
  if (c.has(0)) return c.output(0, ir::Type::optional(c.input(0)));
  const ir::Type& element = c.attributes().type("type");
  require(element.kind() != ir::Type::Kind::none,
          "an empty optional needs the attribute 'type': the type of what it could hold");
  c.output(0, ir::Type::optional(element));
}

void make(kernels::UnsizedCall& call) {
  call.set(0, call.has(0) ? Optional{std::make_shared<const Value>(call.value(0))} : Optional{});
}

std::vector<ir::ValueId> optional_gradient(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::ValueId> adjoints) {
  if (!has_input(node, 0)) return std::vector<ir::ValueId>(node.inputs.size(), ir::ValueId::none);
  return {b("optional_get_element", {adjoints[0]})};
}

const ir::OpEntry optional{{
    .name = "optional",
    .doc = "an optional that holds the input, or nothing",
    .inputs = {{"value", ir::InputDef::optional}},
    .outputs = {"optional"},
    .attributes = {{"type", ir::Type()}},
    .type = optional_rule,
    .meaning = plain_kernel(make),
    .gradient = optional_gradient,
}};

}  // namespace
}  // namespace rondel::ops
