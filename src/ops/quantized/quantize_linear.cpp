#include "base/error.h"
#include "ops/gradients.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The type in which x / scale is computed: `precision` if given, else the type of the scale.
DType precision(Emitter& e) {
  const ir::Type& asked = e.attributes().type("precision");
  return arithmetic_type(asked.is_tensor() ? asked.dtype() : e.dtype(1));
}

/// The least and the greatest value of an integer type.
std::pair<double, double> limits(DType t) {
  const int bits = file_bits(t);
  if (is_unsigned_integer(t)) return {0, (1 << bits) - 1};
  const int half = 1 << (bits - 1);
  return {-half, half - 1};
}

/// saturate(round(x / scale) + zero_point). For an integer result, the quotient is rounded before
/// the zero point is added; for a float result, the final conversion rounds.
Ex quantized(Emitter& e, std::size_t, const Indices& index) {
  scalar::Builder& b = e.builder();
  const DType to = e.output_dtype(), in = precision(e), wide = scalar::compute_type(in);
  const Ex ratio = b.cast(in, e.load(0, index)) / b.cast(in, load_parameter(e, 1, index));
  Ex y = b.cast(wide, ratio);
  if (is_integer(to)) y = round_even(y);
  if (e.has(2)) y = y + b.cast(wide, load_parameter(e, 2, index));
  if (is_integer(to)) {
    const auto [least, most] = limits(to);
    y = scalar::min(scalar::max(y, scalar::literal(y, least)), scalar::literal(y, most));
  }
  return b.cast(to, y, e.attributes().flag("saturate", true));
}

void quantize_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype();
  require((is_float(from) && !is_small_float(from)) || from == DType::i32,
          "input 0 is {}; expected a float of 16 bits and up or i32", name(from));
  require_scale(c, 1);
  const ir::Type& computed = c.attributes().type("precision");
  const DType exact = computed.is_tensor() ? computed.dtype() : DType::f32;
  require(is_float(exact) && !is_small_float(exact),
          "precision is {}; expected a float of 16 bits and up", name(exact));
  const std::int64_t saturate = c.attributes().i("saturate", 1);
  require(saturate == 0 || saturate == 1, "saturate is {}; expected 0 or 1", saturate);
  const ir::Type& asked = c.attributes().type("output_dtype");
  DType to = asked.is_tensor() ? asked.dtype() : DType::u8;
  if (c.has(2)) {
    require_tensor(c, 2);
    const DType zero = c.input(2).dtype();
    require(!asked.is_tensor() || to == zero,
            "output_dtype is {} and the zero point {}; expected one", name(to), name(zero));
    to = zero;
  }
  require(is_quantized(to),
          "there is no quantization to {}; expected an integer of at most 16 bits or "
          "a float of at most 8",
          name(to));
  require_granularity(c);
  c.output(0, with_dtype(c.input(0), to));
}

const ir::OpEntry quantize_linear{{
    .name = "quantize_linear",
    .doc = "y = saturate(round(x / scale) + zero_point), for the tensor, an axis or its blocks",
    .inputs = {{"x"}, {"scale"}, {"zero_point", ir::InputDef::optional}},
    .attributes = {{"axis", 1},
                   {"block_size", 0},
                   {"output_dtype", ir::Type()},
                   {"precision", ir::Type()},
                   {"saturate", 1}},
    .type = quantize_rule,
    .meaning = elements(quantized),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
