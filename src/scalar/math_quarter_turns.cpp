#include "scalar/math_quarter_turns.h"

#include <array>

namespace rondel::scalar::parts {
namespace {

constexpr double two_over_pi = 0x1.45f306dc9c883p-1;
constexpr double half_pi_f32[] = {0x1.921fb6p+0, -0x1.777a5cp-25, -0x1.ee59dap-50};
constexpr double half_pi_f64[] = {0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54,
                                  -0x1.f1976b7ed8fbcp-110};

// The binary digits of 2/pi after the point, after one word of zeros.
constexpr std::array<std::uint64_t, 20> digits{0,
                                               0xa2f9836e4e441529,
                                               0xfc2757d1f534ddc0,
                                               0xdb6295993c439041,
                                               0xfe5163abdebbc561,
                                               0xb7246e3a424dd2e0,
                                               0x06492eea09d1921c,
                                               0xfe1deb1cb129a73e,
                                               0xe88235f52ebb4484,
                                               0xe99c7026b45f7e41,
                                               0x3991d639835339f4,
                                               0x9c845f8bbdf9283b,
                                               0x1ff897ffde05980f,
                                               0xef2f118b5a0a6d1f,
                                               0x6d367ecf27cb09b7,
                                               0x4f463f669e5fea2d,
                                               0x7527bac7ebe5f17b,
                                               0x3d0739f78a5292ea,
                                               0x6bfb5fb11f8d5d08,
                                               0x56033046fc7b6bab};

// Subtracts n pi/2, with pi/2 in three parts. x - n * first is exact: it is small, and a multiple
// of an ulp of the first part.
QuarterTurns cody_waite(Ex x) {
  const double* half_pi = is_f32(x) ? half_pi_f32 : half_pi_f64;
  const auto minus = [&](int part) { return literal(x, -half_pi[part]); };
  const Ex shifted = fma(x, literal(x, two_over_pi), literal(x, format(x).rounder));
  const Ex n = shifted - format(x).rounder;
  const Ex first = fma(n, minus(0), x), hi = fma(n, minus(1), first);
  const Pair left = fast_sum(first, -hi);
  const Ex rest = fma(n, minus(1), left.hi) + left.lo;
  return {bits_of(shifted), {hi, fma(n, minus(2), rest)}};
}

Ex word(Ex like, std::uint64_t value) { return literal(like, static_cast<std::int64_t>(value)); }

// Words [index, index + count) of a table, by halving the table for each bit of the index.
std::vector<Ex> window(std::vector<Ex> table, Ex index, int bits, std::size_t count) {
  for (int b = bits; b-- > 0;) {
    const std::size_t step = std::size_t{1} << b, left = std::min(table.size(), step - 1 + count);
    const Ex skip = ((index >> b) & 1) != 0;
    std::vector<Ex> next(table.begin(), table.begin() + static_cast<std::ptrdiff_t>(left));
    for (std::size_t i = 0; i < left && i + step < table.size(); ++i)
      next[i] = select(skip, table[i + step], table[i]);
    table = std::move(next);
  }
  return table;
}

// x = m 2^e with integers m and e of the float's width. The field e has `offset` added, so that it
// is not negative.
struct IntegerSignificand {
  Ex m, e;
};
IntegerSignificand integer_significand(Ex x, std::int64_t offset) {
  const Format& f = format(x);
  const std::int64_t one = std::int64_t{1} << f.mantissa;
  const Ex bits = bits_of(x);
  return {(bits & (one - 1)) | one, (bits >> f.mantissa) + (offset - f.bias - f.mantissa)};
}

// m 2^e 2/pi modulo 4 with 62 bits after the point, from 96 binary digits of 2/pi. Digits before
// the window only add multiples of 4.
QuarterTurns payne_hanek_f32(Ex x) {
  const IntegerSignificand parts = integer_significand(x, 30);
  const Ex e = parts.e, m = cast(DType::u64, parts.m);
  std::vector<Ex> table;
  for (std::size_t i = 0; i < 8; ++i) {
    const std::uint64_t pair = digits[(i + 1) / 2];
    table.push_back(word(m, (i % 2 == 1) ? pair >> 32 : pair & 0xffffffff));
  }
  const std::vector<Ex> w = window(table, e >> 5, 3, 4);
  const Ex shift = cast(DType::u64, e & 31);
  const auto digits_at = [&](std::size_t i) {
    return ((((w[i] << 32) | w[i + 1]) << shift) >> 32) & word(m, 0xffffffff);
  };
  const Ex turns = ((m * digits_at(0)) << 32) + m * digits_at(1) + ((m * digits_at(2)) >> 32);
  const Ex q = (turns + word(m, std::uint64_t{1} << 61)) >> 62;
  const Ex fraction = cast(DType::f64, bitcast(DType::i64, turns - (q << 62)));
  const Ex r = fraction * (half_pi_f64[0] * 0x1p-62);
  const Ex hi = cast(DType::f32, r), lo = cast(DType::f32, r - cast(DType::f64, hi));
  return {cast(DType::u32, q), {hi, lo}};
}

struct U128 {
  Ex hi, lo;  ///< u64: hi * 2^64 + lo
};

// a * b in full, from products of halves.
U128 multiply_to_u128(Ex a, Ex b) {
  const auto half = [](Ex x) { return x & 0xffffffffLL; };
  const Ex low = half(a) * half(b), cross = (a >> 32) * half(b) + (low >> 32);
  const Ex other = half(a) * (b >> 32) + half(cross);
  return {(a >> 32) * (b >> 32) + (cross >> 32) + (other >> 32), a * b};
}

U128 add(U128 a, U128 b) {
  const Ex lo = a.lo + b.lo;
  const Ex carry = select(lo < a.lo, literal(lo, 1), literal(lo, 0));
  return {a.hi + b.hi + carry, lo};
}

Ex half_word_as_f64(Ex x, int shift) { return cast(DType::f64, (x >> shift) & 0xffffffffLL); }

// A fraction of 126 bits as a pair of f64, times pi/2.
Pair quarter_to_radians(U128 fraction) {
  const Pair top = two_sum(half_word_as_f64(fraction.hi, 32) * 0x1p-30,
                           half_word_as_f64(fraction.hi, 0) * 0x1p-62);
  const Pair low = two_sum(half_word_as_f64(fraction.lo, 32) * 0x1p-94,
                           half_word_as_f64(fraction.lo, 0) * 0x1p-126);
  const Pair sum = two_sum(top.hi, low.hi);
  const Pair f = fast_sum(sum.hi, sum.lo + (top.lo + low.lo));
  const Pair r = two_product(f.hi, literal(f.hi, half_pi_f64[0]));
  return {r.hi, r.lo + (f.hi * half_pi_f64[1] + f.lo * half_pi_f64[0])};
}

// As for f32, with 126 bits after the point from 192 binary digits.
QuarterTurns payne_hanek_f64(Ex x) {
  const IntegerSignificand parts = integer_significand(x, 62);
  const Ex m = parts.m, shift = parts.e & 63;
  std::vector<Ex> table;
  for (const std::uint64_t value : digits) table.push_back(word(m, value));
  const std::vector<Ex> w = window(table, parts.e >> 6, 5, 4);
  const auto digits_at = [&](std::size_t i) {
    return (w[i] << shift) | (w[i + 1] >> (literal(shift, 64) - shift));
  };
  const Ex zero = literal(m, 0);
  const U128 middle = add(multiply_to_u128(m, digits_at(1)),
                          {zero, multiply_to_u128(m, digits_at(2)).hi});
  const U128 turns{m * digits_at(0) + middle.hi, middle.lo};
  const Ex q = (turns.hi + word(m, std::uint64_t{1} << 61)) >> 62;
  const Ex top = turns.hi - (q << 62), negative = (top >> 63) != 0;
  const Ex flipped_low = zero - turns.lo;
  const Ex borrow = select(turns.lo != 0, literal(m, 1), zero);
  const Pair r = quarter_to_radians(
      {select(negative, zero - top - borrow, top), select(negative, flipped_low, turns.lo)});
  return {q, {select(negative, -r.hi, r.hi), select(negative, -r.lo, r.lo)}};
}

}  // namespace

QuarterTurns quarter_turns(Ex x) {
  const auto list = [](QuarterTurns t) { return std::vector<Ex>{t.q, t.r.hi, t.r.lo}; };
  const auto large = [&] { return list(is_f32(x) ? payne_hanek_f32(x) : payne_hanek_f64(x)); };
  const Ex is_large = x >= (is_f32(x) ? 0x1p17 : 0x1p30);
  const auto t = x.builder().if_(is_large, large, [&] { return list(cody_waite(x)); });
  return {t[0], {t[1], t[2]}};
}

}  // namespace rondel::scalar::parts
