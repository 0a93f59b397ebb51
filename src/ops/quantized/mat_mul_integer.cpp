#include "kernels/integer_product.h"
#include "ops/quantized/quantization.h"
#include "ops/quantized/quantized_products.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void mat_mul_integer_rule(ir::TypeContext& c) {
  require_bytes(c);
  product_rule(c, {.a = 0, .b = 1, .of_rows = {2}, .of_columns = {3}}, DType::i32);
}

template <auto make>
SizedKernelMeaning::Kernel prepare_mat_mul_integer(const ir::Node& node,
                                                   std::span<const ir::Type> inputs) {
  kernels::IntegerProduct spec{};
  for (const std::size_t k : {0U, 1U}) spec.is_signed[k] = inputs[k].dtype() == DType::i8;
  for (std::size_t k = 0; k < spec.rank.size(); ++k)
    spec.rank[k] = has_input(node, k) ? static_cast<std::size_t>(inputs[k].rank()) : 0;
  return make(spec);
}

const ir::OpEntry mat_mul_integer{{
    .name = "mat_mul_integer",
    .doc = "y = the matrix product of a - a_zero_point and b - b_zero_point, in 32 bits; the axes "
           "before the last two are broadcast",
    .inputs = {{"a"},
               {"b"},
               {"a_zero_point", ir::InputDef::optional},
               {"b_zero_point", ir::InputDef::optional}},
    .type = mat_mul_integer_rule,
    .meaning = kernel(prepare_mat_mul_integer<kernels::integer_product>,
                      prepare_mat_mul_integer<kernels::fast_integer_product>),
}};

}  // namespace
}  // namespace rondel::ops
