#include "kernels/key_position.h"
#include "ops/gradients.h"
#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void key_position_rule(ir::TypeContext& c) {
  const Tensor& keys = c.attributes().tensor("keys");
  require(is_integer(keys.dtype()) || std::ranges::count(float_dtypes(), keys.dtype()) > 0,
          "keys are {}", name(keys.dtype()));
  require_dtype(c, 0, keys.dtype());
  c.output(0, with_dtype(c.input(0), DType::i64));
  c.holds_while();
}

SizedKernelMeaning::Kernel prepare_key_position(const ir::Node& n,
                                                std::span<const ir::Type> inputs) {
  return kernels::key_position(n.attributes.tensor("keys"),
                               static_cast<std::size_t>(inputs[0].rank()));
}

const ir::OpEntry key_position{{
    .name = "key_position",
    .doc = "y = the position of each number of x among the keys; the number of keys if it is none",
    .inputs = {{"x"}},
    .required = {"keys"},
    .type = key_position_rule,
    .meaning = kernel(prepare_key_position),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
