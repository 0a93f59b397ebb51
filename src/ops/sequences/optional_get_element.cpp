#include "base/error.h"
#include "ops/gradients.h"
#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void get(kernels::UnsizedCall& call) {
  const auto& held = call.value(0).optional().held;
  require(held != nullptr, "the optional is empty");
  call.set(0, *held);
}

std::vector<ir::ValueId> get_gradient(ir::Builder& b, const ir::Node&,
                                      std::span<const ir::ValueId> adjoints) {
  return {b("optional", {adjoints[0]})};
}

const ir::OpEntry optional_get_element{{
    .name = "optional_get_element",
    .doc = "the value that an optional holds",
    .inputs = {{"value"}},
    .outputs = {"element"},
    .type =
        [](ir::TypeContext& c) {
          require(c.input(0).is_optional(), "input 0 is {}; expected an optional",
                  to_text(c.input(0)));
          c.output(0, c.input(0).element());
        },
    .meaning = plain_kernel(get),
    .can_fail = true,
    .gradient = get_gradient,
}};

}  // namespace
}  // namespace rondel::ops
