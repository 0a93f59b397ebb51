#include "scalar/math.h"
#include "scalar/math_parts.h"

/// pow = exp(y log |x|) with the special values of C. f32 computes in f64; f64 keeps the logarithm
/// and its product with y as pairs.
namespace rondel::scalar {
namespace parts {
namespace {

// |x|^y except for |x| = 1 and NaN, which `pow_special` handles.
Ex magnitude_for_f32(Ex x, Ex y) {
  const Ex t = y * log_for_f32(abs(x));
  return cast(DType::f32, exp_for_f32(clamp(t, -200, 200)));
}

Ex magnitude_f64(Ex x, Ex y) {
  const Ex a = abs(x);
  const Significand parts = log_parts(a);
  const Pair l = log_extended_sum({parts.m, literal(a, 0.0)}, parts.k);
  const Ex l_hi = log_special(a, l.hi);
  const Ex t = y * l_hi, bound = clamp(t, -750, 750);
  const Ex t_rest = select(bound == t, fma(y, l_hi, -t) + y * l.lo, 0.0);
  const Exponential e = exponential(bound);
  return scale(e.hi + fma(t_rest, e.hi, e.lo), e.n);
}

struct Parity {
  Ex integer, odd;  ///< bool: y is an integer (or infinite); y is an odd integer
};
Parity parity(Ex y) {
  const Ex integer = trunc(y) == y, half = y * 0.5;
  return {integer, integer & (trunc(half) != half)};
}

Ex pow_special(Ex x, Ex y, Ex magnitude) {
  const Parity y_parity = parity(y);
  const Ex sign = select(y_parity.odd, x, literal(x, 0.0));
  const Ex powered = flip_sign(select(abs(x) == 1, 1.0, magnitude), sign);
  const Ex no_real_power = (x < 0) & (abs(x) < infinity(x)) & ~y_parity.integer;
  const Ex invalid = no_real_power | is_nan(x) | is_nan(y);
  return select((x == 1) | (y == 0), 1.0, select(invalid, nan(x), powered));
}

// By squaring, low bit of the exponent first. With a negative exponent the result is 0, except for
// x = 1 and x = -1.
Ex integer_power(Ex x, Ex y) {
  Builder& b = x.builder();
  const bool may_invert = is_signed_integer(y.type());
  const Ex negative = may_invert ? y < 0 : b.constant_bits(DType::boolean, 0);
  const Ex exponent = cast(DType::u64, select(negative, y & 1, y));
  const auto finals = b.for_while(
      b.index(0), b.index(64), {literal(x, 1), x, exponent},
      [](Ex, std::span<const Ex> carried) -> std::vector<Ex> {
        const Ex product = carried[0], square = carried[1], rest = carried[2];
        const Ex next = rest >> 1;
        return {next != 0, select((rest & 1) != 0, product * square, product), square * square,
                next};
      });
  if (!may_invert) return finals[0];
  const Ex unit = is_signed_integer(x.type()) ? (x == 1) | (x == -1) : x == 1;
  return select(negative & ~unit, literal(x, 0), finals[0]);
}

}  // namespace
}  // namespace parts

// Largest error: f32 0.51 ulp, f64 1. x, its square, its cube in f32 and its root are what most
// models take powers for: where the exponent is a constant, nothing else is left.
Ex pow(Ex x, Ex y) {
  const DType t = x.type();
  if (t != DType::f32 && t != DType::f64)
    return cast(t, pow(cast(DType::f32, x), cast(DType::f32, y)));
  const Ex wide_x = cast(DType::f64, x), wide_y = cast(DType::f64, y);
  const Ex any = parts::pow_special(
      x, y,
      t == DType::f64 ? parts::magnitude_f64(x, y) : parts::magnitude_for_f32(wide_x, wide_y));
  const Ex infinite = parts::infinity(x);
  const Ex root = select(x == -infinite, infinite, abs(sqrt(x)));
  const Ex other = select(y == 1, x, select(y == 0.5, root, any));
  if (t == DType::f64) return select(y == 2, x * x, other);
  const Ex cube = cast(DType::f32, wide_x * wide_x * wide_x);
  return select(y == 2, x * x, select(y == 3, cube, other));
}

Ex integer_pow(Ex x, Ex y) { return parts::integer_power(x, y); }

}  // namespace rondel::scalar
