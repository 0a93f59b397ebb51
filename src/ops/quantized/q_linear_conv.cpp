#include "base/error.h"
#include "ops/quantized/quantization.h"
#include "ops/quantized/quantized_products.h"
#include "ops/type_rules.h"
#include "ops/windows/convolution.h"

#include <numeric>

namespace rondel::ops {
namespace {

/// The inputs by number.
struct QConv {
  static constexpr std::size_t x = 0, x_scale = 1, x_zero = 2, w = 3, w_scale = 4, w_zero = 5,
                               y_scale = 6, y_zero = 7, bias = 8;
};

void q_linear_conv_rule(ir::TypeContext& c) {
  for (const std::size_t k : {QConv::x, QConv::w, QConv::y_zero})
    require_dtypes(c, k, byte_dtypes());
  for (const std::size_t k : {QConv::x_scale, QConv::w_scale, QConv::y_scale})
    require_dtype(c, k, DType::f32);
  for (const std::size_t k : {QConv::x_scale, QConv::w_scale, QConv::y_scale})
    require_sound_scale(c, k);
  require_same_dtype(c, QConv::x, QConv::x_zero);
  require_same_dtype(c, QConv::w, QConv::w_zero);
  for (const std::size_t k : {QConv::x_scale, QConv::x_zero, QConv::y_scale, QConv::y_zero})
    require_scalar(c, k);
  bool fits = fits_whole_or_channels(c, QConv::w_scale, QConv::w, "w_scale");
  fits = fits_whole_or_channels(c, QConv::w_zero, QConv::w, "w_zero_point") && fits;
  if (c.has(QConv::bias)) {
    require_dtype(c, QConv::bias, DType::i32);
    require_rank(c, QConv::bias, 1);
    fits = fits_output_channels(c, QConv::bias, QConv::w, "bias") && fits;
  }
  convolution_rule(c, QConv::w, c.input(QConv::y_zero).dtype(), fits);
}

/// A list with one element for each channel, aligned with axis 1 of y; one element stays.
ir::ValueId for_channels(ir::Builder& b, ir::ValueId v, std::int64_t spatial) {
  const ir::Type& t = b.graph().value(v).type;
  if (!t.has_rank()) unsupported("w_scale is {}; its rank must be known", to_text(t));
  if (t.rank() == 0 || spatial == 0) return v;
  ir::Ints axes(static_cast<std::size_t>(spatial));
  std::iota(axes.begin(), axes.end(), 1);
  return b("unsqueeze", {v, b.integers(axes)});
}

std::vector<ir::ValueId> quantized_convolution(ir::Builder& b, const ir::Node& n) {
  const auto in = [&](std::size_t k) { return n.inputs[k]; };
  ir::ValueId sums = b("conv_integer",
                       {in(QConv::x), in(QConv::w), in(QConv::x_zero), in(QConv::w_zero)},
                       n.attributes);
  const ir::Type& type = b.graph().value(sums).type;
  if (!type.has_rank()) unsupported("a quantized convolution of tensors of unknown rank");
  const std::int64_t spatial = type.rank() - 2;
  if (has_input(n, QConv::bias)) {
    ir::ValueId bias = in(QConv::bias);
    if (!b.graph().value(bias).type.has_rank()) bias = b("reshape", {bias, b.integers({0})});
    bias = with_extent_of(b, bias, 0, in(QConv::w), 0, {"B", "w"});
    sums = b("add", {sums, for_channels(b, bias, spatial)});
  }
  const ir::ValueId scale = product_scale(b, one_as_scalar(b, in(QConv::x_scale)),
                                          for_channels(b, in(QConv::w_scale), spatial),
                                          one_as_scalar(b, in(QConv::y_scale)));
  return {requantized(b, sums, scale, one_as_scalar(b, in(QConv::y_zero)))};
}

const ir::OpEntry q_linear_conv{{
    .name = "q_linear_conv",
    .doc =
        "y = the quantized convolution of quantized x and w, each with a scale and a zero point; "
        "the bias has the scale x_scale * w_scale",
    .inputs = {{"x"},
               {"x_scale"},
               {"x_zero_point"},
               {"w"},
               {"w_scale"},
               {"w_zero_point"},
               {"y_scale"},
               {"y_zero_point"},
               {"b", ir::InputDef::optional}},
    .attributes = convolution_attributes(),
    .type = q_linear_conv_rule,
    .meaning = composite(quantized_convolution,
                         {QConv::x, QConv::w, QConv::x_scale, QConv::w_scale}),
    .value_inputs = {QConv::x_scale, QConv::w_scale, QConv::y_scale},
}};

}  // namespace
}  // namespace rondel::ops
