#include "kernels/conv.h"
#include "ops/batching.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "ops/windows/convolution.h"
#include "ops/windows/window_gradients.h"

namespace rondel::ops {
namespace {

void conv_rule(ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has(k)) require_same_dtype(c, 0, k);
  if (c.has(2)) require_rank(c, 2, 1);
  const bool bias_fits = !c.has(2) || fits_output_channels(c, 2, 1, "bias");
  convolution_rule(c, 1, c.input(0).dtype(), bias_fits);
}

std::size_t rank_of(std::span<const ir::Type> inputs) {
  return static_cast<std::size_t>(inputs[0].rank());
}

SizedKernelMeaning::Kernel reference(const ir::Node& node, std::span<const ir::Type> inputs) {
  return kernels::conv(convolution_spec(node.attributes), inputs[0].dtype(), rank_of(inputs));
}

SizedKernelMeaning::Kernel fast(const ir::Node& node, std::span<const ir::Type> inputs) {
  return kernels::fast_conv(convolution_spec(node.attributes), inputs[0].dtype(), rank_of(inputs));
}

const ir::OpEntry conv_op{{
    .name = "conv",
    .doc = "y = the convolution of x with the kernels w over its spatial axes, plus a bias",
    .inputs = {{"x"}, {"w"}, {"b", ir::InputDef::optional}},
    .attributes = convolution_attributes(),
    .type = floats_only(conv_rule),
    .meaning = kernel(reference, fast),
    .batch = merged_into_first_axis,
    .gradient = conv_gradient,
}};

}  // namespace
}  // namespace rondel::ops
