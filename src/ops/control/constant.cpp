#include "kernels/stop_check.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void constant_rule(ir::TypeContext& c) {
  const Tensor& value = c.attributes().tensor("value");
  c.output(0, ir::Type::of(value));
  c.holds_while();
  c.known(0, value);
}

kernels::UnsizedKernel give_value(const ir::Node& node, std::span<const ir::Type>) {
  return [value = node.attributes.tensor("value")](kernels::UnsizedCall& call) {
    kernels::StopCheck(call).assign(value, call.make(0, value.dtype(), value.shape()));
  };
}

const ir::OpEntry constant_op{{
    .name = "constant",
    .doc = "y = the tensor that the model holds",
    .inputs = {},
    .required = {"value"},
    .type = constant_rule,
    .meaning = unsized_kernel(give_value),
}};

}  // namespace
}  // namespace rondel::ops
