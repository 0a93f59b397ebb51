#include "base/error.h"
#include "scalar/builder.h"
#include "scalar/op_facts.h"

/// Casts among all real dtypes, as sequences of primitives: the same steps as in
/// base/float_formats.h, emitted as instructions.
namespace rondel::scalar {
namespace {

Ex u32(Ex like, std::int64_t value) { return like.builder().constant_bits(DType::u32, value); }

/// `round_to_odd` of base/float_formats.h: rounds an f64 such that a later rounding to a narrow
/// float is correct.
Ex odd_f32(Ex x) {
  const Ex nearest = cast(DType::f32, x), back = cast(DType::f64, nearest);
  const Ex bits = bitcast(DType::u32, nearest);
  const Ex towards_zero = bits - select(abs(x) < abs(back), u32(x, 1), u32(x, 0));
  return bitcast(DType::f32, towards_zero | select(back != x, u32(x, 1), u32(x, 0)));
}

/// An i64 or u64 as an f64 that rounds to narrow floats as the integer itself would: if not all
/// bits fit, the lowest 12 are replaced by a sticky bit.
Ex jammed_f64(Ex x) {
  const Ex low = x & 0xfff;
  const Ex jammed = (x & ~std::int64_t{0xfff}) | select(low != 0, literal(x, 0x800), literal(x, 0));
  const Ex magnitude = x.type() == DType::i64 ? abs(x) : x;
  const Ex wide = (magnitude >> 53) != 0;
  return cast(DType::f64, select(wide, jammed, x));
}

/// An f32 that rounds to any narrow float as `x` itself would.
Ex narrowable_f32(Ex x) {
  switch (x.type()) {
    case DType::f32: return x;
    case DType::f64: return odd_f32(x);
    case DType::i64:
    case DType::u64: return odd_f32(jammed_f64(x));
    case DType::i32:
    case DType::u32: return odd_f32(cast(DType::f64, x));
    default: return cast(DType::f32, x);
  }
}

Ex encode_small(DType to, Ex x, bool saturate) {
  const SmallFormat f = small_format(to);
  const Ex bits = bitcast(DType::u32, x);
  const Ex sign = select((bits >> 31) != 0, u32(x, f.sign_bit), u32(x, 0));
  const Ex magnitude = bits & 0x7fffffff;
  const std::int64_t shift = 23 - f.mantissa_bits;
  const std::int64_t step = std::int64_t{151 - f.bias - f.mantissa_bits} << 23;
  const Ex sum = bitcast(DType::f32, magnitude) + bitcast(DType::f32, u32(x, step));
  const Ex subnormal = bitcast(DType::u32, sum) - step;
  const Ex rebased = magnitude - (std::int64_t{127 - f.bias} << 23);
  const Ex half = ((magnitude >> shift) & 1) + ((std::int64_t{1} << (shift - 1)) - 1);
  const Ex normal = (rebased + half) >> shift;
  Ex code = select(magnitude < (std::int64_t{128 - f.bias} << 23), subnormal, normal);
  code = select(code > f.largest, saturate ? f.largest : f.overflow, code);
  const Ex with_sign = code | sign;
  if (f.unsigned_zero) code = select((code == 0) | (code == 0x80), code, with_sign);
  else code = with_sign;
  const Ex nan = f.nan < f.sign_bit ? sign | f.nan : u32(x, f.nan);
  return bitcast(to, cast(DType::u8, select(is_nan(x), nan, code)));
}

Ex decode_small(Ex x) {
  const SmallFormat f = small_format(x.type());
  const Ex code = cast(DType::u32, bitcast(DType::u8, x));
  const Ex magnitude = code & (f.sign_bit - 1);
  const Ex sign = select((code & f.sign_bit) != 0, u32(x, 0x80000000), u32(x, 0));
  const std::int64_t step = std::int64_t{128 - f.bias - f.mantissa_bits} << 23;
  const Ex scaled = cast(DType::f32, magnitude) * bitcast(DType::f32, u32(x, step));
  const Ex normal = (magnitude << (23 - f.mantissa_bits)) + (std::int64_t{127 - f.bias} << 23);
  Ex bits = select(magnitude < (1 << f.mantissa_bits), bitcast(DType::u32, scaled), normal);
  if (f.has_infinity) bits = select(magnitude > f.largest, u32(x, 0x7f800000), bits);
  if (f.unsigned_zero) bits = select(code == 0x80, u32(x, 0x7fc00000), bits);
  else if (f.first_nan < 0x80) bits = select(magnitude >= f.first_nan, u32(x, 0x7fc00000), bits);
  return bitcast(DType::f32, bits | sign);
}

Ex encode_e8m0(Ex x, bool saturate, ScaleRounding rounding) {
  const Ex magnitude = bitcast(DType::u32, x) & 0x7fffffff;
  const Ex rebased = select(magnitude < 0x00800000, (magnitude - 0x00400000) << 1, magnitude);
  std::int64_t carry = 0;
  if (rounding == ScaleRounding::up) carry = 0x7fffff;
  if (rounding == ScaleRounding::nearest) carry = 0x400000;
  Ex code = (rebased + carry) >> 23;
  code = select((code > 0xfe) | (magnitude == 0x7f800000), u32(x, saturate ? 0xfe : 0xff), code);
  code = select(magnitude < 0x00400000, u32(x, saturate ? 0 : 0xff), code);
  return bitcast(DType::f8e8m0, cast(DType::u8, select(is_nan(x), u32(x, 0xff), code)));
}

Ex decode_e8m0(Ex x) {
  const Ex code = cast(DType::u32, bitcast(DType::u8, x));
  const Ex bits = select(code == 0, u32(x, 0x00400000), code << 23);
  return bitcast(DType::f32, select(code == 0xff, u32(x, 0x7fc00000), bits));
}

/// Wraps an 8-bit integer to 4 or 2 bits.
Ex narrow_integer(DType to, Ex x) {
  const int spare = 8 - file_bits(to);
  const DType byte = is_signed_integer(to) ? DType::i8 : DType::u8;
  return bitcast(to, (cast(byte, x) << spare) >> spare);
}

/// The value, unchanged, in the nearest type that the primitive `cast` supports.
Ex widened(Ex x) {
  const DType t = x.type();
  if (is_cast_type(t)) return x;
  if (t == DType::f8e8m0) return decode_e8m0(x);
  if (is_small_float(t)) return decode_small(x);
  if (is_integer(t)) return bitcast(is_signed_integer(t) ? DType::i8 : DType::u8, x);
  return x.builder().cast(DType::f32, x);
}

}  // namespace

Ex Builder::cast(DType to, Ex x, bool saturate, ScaleRounding rounding) {
  const DType from = x.type();
  if (from == to) return x;
  const auto real = [](DType t) { return is_integer(t) || is_float(t) || t == DType::boolean; };
  if (!real(from) || !real(to)) unsupported("a cast from {} to {}", name(from), name(to));
  if (const auto v = known(x); v && is_integer(from) && is_integer(to)) return constant(to, *v);
  if (casts(from, to)) return {this, emit({.op = Op::cast, .type = to, .from = from}, {&x, 1}, to)};
  const Ex wide = widened(x);
  if (is_cast_type(to)) return cast(to, wide);
  if (is_integer(to)) {
    const bool floating = is_float(wide.type());
    return narrow_integer(to, floating ? cast(DType::i32, wide) : wide);
  }
  const Ex narrowable = narrowable_f32(wide);
  if (to == DType::f8e8m0) return encode_e8m0(narrowable, saturate, rounding);
  if (is_small_float(to)) return encode_small(to, narrowable, saturate);
  return cast(to, narrowable);
}

}  // namespace rondel::scalar
