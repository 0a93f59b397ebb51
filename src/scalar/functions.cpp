#include "base/error.h"
#include "scalar/builder.h"
#include "scalar/op_facts.h"

#include <cmath>

/// Operators and small functions on expressions.
namespace rondel::scalar {

Ex operator+(Ex a, Ex b) { return a.builder().binary(Op::add, a, b); }
Ex operator-(Ex a, Ex b) { return a.builder().binary(Op::sub, a, b); }
Ex operator*(Ex a, Ex b) { return a.builder().binary(Op::mul, a, b); }
Ex operator/(Ex a, Ex b) { return a.builder().binary(Op::div, a, b); }
Ex operator%(Ex a, Ex b) { return a.builder().binary(Op::rem, a, b); }
Ex operator-(Ex x) { return x.builder().unary(Op::neg, x); }
Ex operator&(Ex a, Ex b) { return a.builder().binary(Op::band, a, b); }
Ex operator|(Ex a, Ex b) { return a.builder().binary(Op::bor, a, b); }
Ex operator^(Ex a, Ex b) { return a.builder().binary(Op::bxor, a, b); }
Ex operator~(Ex x) { return x.builder().unary(Op::bnot, x); }
Ex operator<<(Ex a, Ex b) { return a.builder().binary(Op::shl, a, b); }
Ex operator>>(Ex a, Ex b) { return a.builder().binary(Op::shr, a, b); }
Ex operator==(Ex a, Ex b) { return a.builder().binary(Op::eq, a, b); }
Ex operator!=(Ex a, Ex b) { return a.builder().binary(Op::ne, a, b); }
Ex operator<(Ex a, Ex b) { return a.builder().binary(Op::lt, a, b); }
Ex operator<=(Ex a, Ex b) { return a.builder().binary(Op::le, a, b); }

Ex select(Ex condition, Ex a, Ex b) { return condition.builder().select(condition, a, b); }
Ex fma(Ex a, Ex b, Ex c) { return a.builder().fma(a, b, c); }
Ex scale(Ex a, Ex b) { return a.builder().scale(a, b); }
Ex cast(DType to, Ex x) { return x.builder().cast(to, x); }
Ex bitcast(DType to, Ex x) { return x.builder().bitcast(to, x); }
Ex sqrt(Ex x) { return x.builder().unary(Op::sqrt, x); }
Ex floor(Ex x) { return x.builder().unary(Op::floor, x); }
Ex ceil(Ex x) { return x.builder().unary(Op::ceil, x); }
Ex trunc(Ex x) { return x.builder().unary(Op::trunc, x); }
Ex round_even(Ex x) { return x.builder().unary(Op::round_even, x); }

namespace {

/// Clears the sign bit; `bits` is the unsigned integer type of the same width.
Ex without_sign(Ex x, DType bits, std::int64_t mask) {
  return bitcast(x.type(), bitcast(bits, x) & x.builder().constant_bits(bits, mask));
}

/// The smaller operand or the larger one; a NaN operand if there is one.
Ex extreme(Ex a, Ex b, bool larger) {
  Builder& builder = a.builder();
  if (a.type() == DType::boolean) return larger ? a | b : a & b;
  const DType wide = compute_type(a.type());
  const Ex x = cast(wide, a), y = cast(wide, b);
  const Ex first = larger ? y < x : x < y;
  const auto never_nan = [&](Ex v) {
    const std::optional<double> number = builder.known_number(v);
    return number && !std::isnan(*number);
  };
  if (!is_float(wide) || never_nan(x)) return select(first, a, b);
  // Compilers make one instruction of the negated comparison and the choice.
  if (never_nan(y)) return select(~(larger ? x <= y : y <= x), a, b);
  return select(first | (x != x), a, b);
}

}  // namespace

Ex abs(Ex x) {
  const DType t = x.type();
  switch (t) {
    case DType::f64: return without_sign(x, DType::u64, INT64_MAX);
    case DType::f32: return without_sign(x, DType::u32, 0x7fffffff);
    case DType::f16:
    case DType::bf16: return without_sign(x, DType::u16, 0x7fff);
    default: break;
  }
  if (is_small_float(t)) return cast(t, abs(cast(DType::f32, x)));
  return is_signed_integer(t) ? select(x < 0, -x, x) : x;
}

Ex is_nan(Ex x) {
  if (!is_float(x.type())) return x.builder().constant_bits(DType::boolean, 0);
  return x != x;
}

Ex min(Ex a, Ex b) { return extreme(a, b, false); }
Ex max(Ex a, Ex b) { return extreme(a, b, true); }

Ex lowest(Builder& builder, DType t) {
  if (t == DType::f8e8m0) return builder.constant_bits(t, 0);
  if (is_small_float(t)) {
    const SmallFormat f = small_format(t);
    return builder.constant_bits(t, f.sign_bit | (f.largest + (f.has_infinity ? 1 : 0)));
  }
  if (is_float(t)) return builder.constant(t, -HUGE_VAL);
  if (!is_signed_integer(t)) return builder.constant(t, std::int64_t{0});
  return builder.constant(t, INT64_MIN >> (64 - file_bits(t)));
}

Ex highest(Builder& builder, DType t) {
  if (t == DType::f8e8m0) return builder.constant_bits(t, 0xfe);
  if (is_small_float(t)) {
    const SmallFormat f = small_format(t);
    return builder.constant_bits(t, f.largest + (f.has_infinity ? 1 : 0));
  }
  if (is_float(t)) return builder.constant(t, HUGE_VAL);
  if (t == DType::boolean) return builder.constant_bits(t, 1);
  invariant(is_integer(t), "{} has no greatest value", name(t));
  if (is_signed_integer(t)) return builder.constant(t, INT64_MAX >> (64 - file_bits(t)));
  const auto all = ~std::uint64_t{0} >> (64 - file_bits(t));
  return builder.constant_bits(t, static_cast<std::int64_t>(all));
}

}  // namespace rondel::scalar
