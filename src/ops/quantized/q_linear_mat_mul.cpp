#include "base/error.h"
#include "ops/quantized/quantization.h"
#include "ops/quantized/quantized_products.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The inputs by number.
struct QProduct {
  static constexpr std::size_t a = 0, a_scale = 1, a_zero = 2, b = 3, b_scale = 4, b_zero = 5,
                               y_scale = 6, y_zero = 7;
};

bool is_byte(DType t) { return t == DType::i8 || t == DType::u8; }

void require_operand(const ir::TypeContext& c, std::size_t k) {
  require_tensor(c, k);
  const DType t = c.input(k).dtype();
  require(is_byte(t) || (is_small_float(t) && is_quantized(t) && file_bits(t) == 8),
          "input {} is {}; expected i8, u8 or a float of 8 bits", k, name(t));
}

void q_linear_mat_mul_rule(ir::TypeContext& c) {
  static constexpr DType scales[] = {DType::f32, DType::f16, DType::bf16};
  for (const std::size_t k : {QProduct::a, QProduct::b, QProduct::y_zero}) require_operand(c, k);
  for (const std::size_t k : {QProduct::a_scale, QProduct::b_scale, QProduct::y_scale})
    require_dtypes(c, k, scales);
  for (const std::size_t k : {QProduct::a_scale, QProduct::b_scale, QProduct::y_scale})
    require_sound_scale(c, k);
  require_same_dtype(c, QProduct::a, QProduct::a_zero);
  require_same_dtype(c, QProduct::b, QProduct::b_zero);
  require_scalar(c, QProduct::y_scale);
  require_scalar(c, QProduct::y_zero);
  product_rule(c,
               {.a = QProduct::a,
                .b = QProduct::b,
                .of_rows = {QProduct::a_scale, QProduct::a_zero},
                .of_columns = {QProduct::b_scale, QProduct::b_zero}},
               c.input(QProduct::y_zero).dtype());
}

/// A scale or zero point for each row, as a column; others as they are.
ir::ValueId for_rows(ir::Builder& b, const ir::Node& n, std::size_t k) {
  const auto type = [&](std::size_t input) -> const ir::Type& {
    return b.graph().value(n.inputs[input]).type;
  };
  const ir::Type &t = type(k), &x = type(QProduct::a), &y = type(QProduct::b);
  if (t.has_rank() && (t.rank() != 1 || t.extent(0) == ir::Extent(1))) return n.inputs[k];
  if (!t.has_rank() || !x.has_rank() || !y.has_rank())
    unsupported("a quantized product of {} and {} with a parameter {}; it needs their ranks",
                to_text(x), to_text(y), to_text(t));
  const bool one_axis = x.rank() == 1 || y.rank() == 1;
  if (one_axis) return n.inputs[k];
  return b("unsqueeze", {n.inputs[k], b.integers({1})});
}

ir::ValueId centered_and_scaled(ir::Builder& b, ir::ValueId x, ir::ValueId zero,
                                ir::ValueId scale) {
  const ir::ValueId centered = b("sub", {as(b, x, DType::f32), as(b, zero, DType::f32)});
  return in_own_shape(b, b("mul", {centered, as(b, scale, DType::f32)}), x, {zero, scale});
}

std::vector<ir::ValueId> quantized_product(ir::Builder& b, const ir::Node& n) {
  const auto in = [&](std::size_t k) { return n.inputs[k]; };
  const ir::ValueId zero = one_as_scalar(b, in(QProduct::y_zero));
  if (is_byte(dtype_of(b, in(QProduct::a))) && is_byte(dtype_of(b, in(QProduct::b)))) {
    const ir::ValueId sums = b("mat_mul_integer", {in(QProduct::a), in(QProduct::b),
                                                   in(QProduct::a_zero), in(QProduct::b_zero)});
    const ir::ValueId scale = product_scale(b, for_rows(b, n, QProduct::a_scale),
                                            in(QProduct::b_scale),
                                            one_as_scalar(b, in(QProduct::y_scale)));
    return {requantized(b, sums, scale, zero)};
  }
  const ir::ValueId x = centered_and_scaled(b, in(QProduct::a), for_rows(b, n, QProduct::a_zero),
                                            for_rows(b, n, QProduct::a_scale));
  const ir::ValueId y = centered_and_scaled(b, in(QProduct::b), in(QProduct::b_zero),
                                            in(QProduct::b_scale));
  const ir::ValueId product = b("mat_mul", {x, y});
  return {b("quantize_linear",
            {product, as(b, one_as_scalar(b, in(QProduct::y_scale)), DType::f32), zero})};
}

const ir::OpEntry q_linear_mat_mul{{
    .name = "q_linear_mat_mul",
    .doc = "y = the quantized matrix product of quantized a and b, each with a scale and a zero "
           "point",
    .inputs = {{"a"},
               {"a_scale"},
               {"a_zero_point"},
               {"b"},
               {"b_scale"},
               {"b_zero_point"},
               {"y_scale"},
               {"y_zero_point"}},
    .type = q_linear_mat_mul_rule,
    .meaning = composite(quantized_product,
                         {QProduct::a, QProduct::b, QProduct::a_scale, QProduct::a_zero}),
    .value_inputs = {QProduct::a_scale, QProduct::b_scale, QProduct::y_scale},
}};

}  // namespace
}  // namespace rondel::ops
