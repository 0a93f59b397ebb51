#include "base/error.h"
#include "ops/gradients.h"
#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void get(kernels::UnsizedCall& call) {
  if (!call.value(0).is_optional()) return call.set(0, passed_on(call.value(0)));
  const auto& held = call.value(0).optional().held;
  require(held != nullptr, "the optional is empty");
  call.set(0, *held);
}

std::vector<ir::ValueId> get_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ir::ValueId> adjoints) {
  if (!b.graph().value(node.inputs[0]).type.is_optional()) return {adjoints[0]};
  return {b("optional", {adjoints[0]})};
}

const ir::OpEntry optional_get_element{{
    .name = "optional_get_element",
    .doc = "the value that an optional holds; a value that is not an optional is passed on",
    .inputs = {{"value"}},
    .outputs = {"element"},
    .type =
        [](ir::TypeContext& c) {
          c.output(0, c.input(0).is_optional() ? c.input(0).element() : c.input(0));
        },
    .meaning = plain_kernel(get),
    .can_fail = true,
    .gradient = get_gradient,
}};

}  // namespace
}  // namespace rondel::ops
