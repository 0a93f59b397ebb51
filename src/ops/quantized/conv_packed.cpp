#include "base/error.h"
#include "kernels/integer_conv.h"
#include "ops/quantized/packed_operands.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"
#include "ops/windows/convolution.h"

namespace rondel::ops {
namespace {

ir::Attributes attributes() {
  ir::Attributes all = convolution_attributes();
  all.set("signed", 0);
  return all;
}

/// Zero points have one element, or are checked by the rule of conv_integer, whose node became this
/// one.
void conv_packed_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, byte_dtypes());
  require_dtype(c, 1, DType::i32);
  if (c.has(2)) require_same_dtype(c, 0, 2);
  if (c.has(3)) require_dtype(c, 3, c.attributes().flag("signed") ? DType::i8 : DType::u8);
  const ir::Type& packed = c.input(1);
  const std::int64_t channels = c.attributes().i("channels");
  if (!packed.has_rank()) return c.output(0, ir::Type::unranked(DType::i32));
  require(packed.rank() >= 2 && packed.extent(1) == packed_channels(channels),
          "weights are {}; expected those of {} channels", to_text(packed), channels);
  ir::Extents w = packed.extents();
  w[1] = channels;
  convolution_rule(c, ir::Type::tensor(DType::i32, std::move(w)), DType::i32, true);
}

SizedKernelMeaning::Kernel prepare_conv_packed(const ir::Node& node,
                                               std::span<const ir::Type> inputs) {
  kernels::IntegerConv spec{convolution_spec(node.attributes),
                            {inputs[0].dtype() == DType::i8, node.attributes.flag("signed")},
                            static_cast<std::size_t>(inputs[0].rank())};
  for (const std::size_t k : {0U, 1U})
    if (has_input(node, k + 2)) spec.zero_rank[k] = static_cast<std::size_t>(inputs[k + 2].rank());
  spec.packed_channels = node.attributes.i("channels");
  return kernels::fast_integer_conv(spec);
}

const ir::OpEntry conv_packed{{
    .name = "conv_packed",
    .doc = "y = conv_integer of x and weights of so many channels that pack_weights has packed",
    .inputs = {{"x"},
               {"weights"},
               {"x_zero_point", ir::InputDef::optional},
               {"w_zero_point", ir::InputDef::optional}},
    .attributes = attributes(),
    .required = {"channels"},
    .type = conv_packed_rule,
    .meaning = kernel(prepare_conv_packed),
}};

}  // namespace
}  // namespace rondel::ops
