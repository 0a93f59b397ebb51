#include "kernels/integer_conv.h"
#include "ops/compose.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"
#include "ops/windows/convolution.h"

namespace rondel::ops {
namespace {

void conv_integer_rule(ir::TypeContext& c) {
  require_bytes(c);
  if (c.has(2)) require_scalar(c, 2);
  convolution_rule(c, 1, DType::i32, !c.has(3) || fits_whole_or_channels(c, 3, 1, "w_zero_point"));
}

template <auto make>
SizedKernelMeaning::Kernel prepare_conv_integer(const ir::Node& node,
                                                std::span<const ir::Type> inputs) {
  kernels::IntegerConv spec{convolution_spec(node.attributes),
                            {inputs[0].dtype() == DType::i8, inputs[1].dtype() == DType::i8},
                            static_cast<std::size_t>(inputs[0].rank())};
  for (const std::size_t k : {0U, 1U})
    if (has_input(node, k + 2)) spec.zero_rank[k] = static_cast<std::size_t>(inputs[k + 2].rank());
  return make(spec);
}

const ir::OpEntry conv_integer{{
    .name = "conv_integer",
    .doc =
        "y = the convolution of x - x_zero_point with w - w_zero_point, in 32 bits; padding adds "
        "nothing",
    .inputs = {{"x"},
               {"w"},
               {"x_zero_point", ir::InputDef::optional},
               {"w_zero_point", ir::InputDef::optional}},
    .attributes = convolution_attributes(),
    .type = conv_integer_rule,
    .meaning = kernel(prepare_conv_integer<kernels::integer_conv>,
                      prepare_conv_integer<kernels::fast_integer_conv>),
}};

}  // namespace
}  // namespace rondel::ops
