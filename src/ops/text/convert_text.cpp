#include "base/error.h"
#include "kernels/number_text.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void convert_text_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype(), to = dtype_attribute(c.attributes(), "to");
  const DType number = from == DType::string ? to : from;
  require((from == DType::string) != (to == DType::string) && kernels::has_text(number),
          "there is no conversion from {} to {}", name(from), name(to));
  c.output(0, with_dtype(c.input(0), to));
}

kernels::UnsizedKernel prepare_convert_text(const ir::Node& node,
                                            std::span<const ir::Type> inputs) {
  if (inputs[0].dtype() != DType::string) return kernels::numbers_to_text;
  const DType to = dtype_attribute(node.attributes, "to");
  return [to](kernels::UnsizedCall& call) { kernels::text_to_numbers(call, to); };
}

const ir::OpEntry convert_text{{
    .name = "convert_text",
    .doc = "Numbers (f32, f64, i64, u64, bool) to their decimal text and back",
    .inputs = {{"x"}},
    .required = {"to"},
    .type = convert_text_rule,
    .meaning = unsized_kernel(prepare_convert_text),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
