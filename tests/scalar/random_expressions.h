#pragma once
#include "scalar/builder.h"
#include "scalar/random_program.h"

#include <algorithm>
#include <random>

namespace rondel::scalar {

inline constexpr DType random_computed[] = {
    DType::f32, DType::f32, DType::f64, DType::i64, DType::i32, DType::i16,  DType::i8,
    DType::u64, DType::u32, DType::u16, DType::u8,  DType::f16, DType::bf16, DType::boolean};
inline constexpr DType random_stored[] = {DType::f8e4m3fn,   DType::f8e4m3fnuz, DType::f8e5m2,
                                          DType::f8e5m2fnuz, DType::f8e8m0,     DType::f4e2m1,
                                          DType::i4,         DType::u4,         DType::i2,
                                          DType::u2,         DType::c64,        DType::c128};

/// Random choices, and random expressions over the values in scope. Loads stay within extents.
class RandomExpressions {
 protected:
  explicit RandomExpressions(std::uint64_t seed)
      : rng_(seed), b_("random" + std::to_string(seed)) {}

  struct Array {
    std::int32_t id;
    DType dtype;
    Shape shape;
    Access access;
  };
  /// An open parallel loop, and the array that its trips may store to.
  struct Region {
    const Array* target;
    Indices fixed;
  };

  // ------------------------------------------------------------------ choices
  int one_of(int low, int high) {
    return low + static_cast<int>(rng_() % static_cast<unsigned>(high - low + 1));
  }
  bool chance(int n) { return rng_() % static_cast<unsigned>(n) == 0; }
  DType computed_type() { return random_computed[rng_() % std::size(random_computed)]; }
  DType any_type() {
    return chance(4) ? random_stored[rng_() % std::size(random_stored)] : computed_type();
  }

  // ------------------------------------------------------------------ expressions
  Ex constant(DType t) {
    if (is_complex(t)) t = DType::i32;
    if (is_float(t)) {
      static const double values[] = {0, 1, -1, 0.5, 3, -2.25, 1e-3, 100};
      return b_.constant(t, values[rng_() % std::size(values)]);
    }
    return b_.constant(t, static_cast<std::int64_t>(chance(4) ? rng_() : rng_() % 9 - 2));
  }

  const Array* readable(DType t) {
    std::vector<const Array*> found;
    for (const Array& a : arrays_) {
      const bool settled = a.access == Access::in || regions_.empty();
      if (a.dtype == t && settled && usable(a)) found.push_back(&a);
    }
    return found.empty() ? nullptr : found[rng_() % found.size()];
  }

  bool usable(const Array& a) const {
    const bool empty = std::find(a.shape.begin(), a.shape.end(), 0) != a.shape.end();
    return !empty && std::find(reserved_.begin(), reserved_.end(), a.id) == reserved_.end();
  }

  /// Any i64 brought into [0, n).
  Ex index(std::int64_t n) {
    const Ex any = expression(DType::i64, 2) % n;
    return (any + n) % n;
  }

  Indices indices(const Array& a) {
    Indices out;
    for (const std::int64_t n : a.shape) out.push_back(index(n));
    return out;
  }

  Ex leaf(DType t) {
    std::vector<Ex> found;
    for (const Ex& x : pool_)
      if (x.type() == t) found.push_back(x);
    if (!found.empty() && !chance(3)) return found[rng_() % found.size()];
    if (const Array* a = readable(t); a && loads_ > 0 && !chance(3)) {
      --loads_;
      return b_.load(a->id, indices(*a));
    }
    if (!is_complex(t)) return constant(t);
    return t == DType::c64 ? bitcast(t, constant(DType::u64)) : complex_leaf();
  }

  /// A c128 value can only be loaded; if there is no buffer to load from, a local array is made.
  Ex complex_leaf() {
    if (const Array* a = readable(DType::c128)) {
      Indices zeros(a->shape.size(), b_.index(0));
      return b_.load(a->id, zeros);
    }
    throw std::logic_error("no c128 to load");
  }

  Ex expression(DType t, int depth) {
    if (depth >= 4 || chance(4)) return leaf(t);
    if (is_complex(t)) return chance(2) ? select(condition(depth + 1), leaf(t), leaf(t)) : leaf(t);
    if (chance(5))
      return select(condition(depth + 1), expression(t, depth + 1), expression(t, depth + 1));
    if (chance(5)) return b_.cast(t, expression(computed_type(), depth + 1), chance(2));
    if (t == DType::boolean) return condition(depth);
    if (is_small_float(t) || (is_integer(t) && file_bits(t) < 8))
      return b_.cast(t, expression(DType::f32, depth + 1), chance(2));
    return is_integer(t) ? integer(t, depth + 1) : real(t, depth + 1);
  }

  Ex integer(DType t, int depth) {
    static const Op ops[] = {Op::add,  Op::sub, Op::mul,  Op::div, Op::rem,
                             Op::band, Op::bor, Op::bxor, Op::shl, Op::shr};
    if (chance(8)) return chance(2) ? -expression(t, depth) : ~expression(t, depth);
    if (chance(8)) return min(expression(t, depth), expression(t, depth));
    if (chance(8) && (t == DType::u32 || t == DType::i64)) {
      const Ex x = expression(t == DType::u32 ? DType::f32 : DType::f64, depth);
      return bitcast(t, select(is_nan(x), literal(x, 1), x));
    }
    const Ex a = expression(t, depth), b = expression(t, depth);
    return b_.binary(ops[rng_() % std::size(ops)], a, b);
  }

  Ex real(DType t, int depth) {
    static const Op unaries[] = {Op::neg, Op::sqrt, Op::floor, Op::ceil, Op::trunc, Op::round_even};
    static const Op ops[] = {Op::add, Op::sub, Op::mul, Op::div, Op::add, Op::mul, Op::rem};
    if (chance(5)) return b_.unary(unaries[rng_() % std::size(unaries)], expression(t, depth));
    if (chance(6)) return fma(expression(t, depth), expression(t, depth), expression(t, depth));
    if (chance(8)) return max(expression(t, depth), expression(t, depth));
    if (chance(8)) return abs(expression(t, depth));
    if ((t == DType::f32 || t == DType::f64) && chance(8))
      return scaled(expression(t, depth), expression(t, depth));
    const Ex a = expression(t, depth), b = expression(t, depth);
    return b_.binary(ops[rng_() % std::size(ops)], a, b);
  }

  /// scale of operands that it takes: x or 1, by a whole number.
  Ex scaled(Ex x, Ex n) {
    const Ex fits = (abs(x) < 0x1p24) & (literal(x, 0x1p-24) < abs(x));
    const Ex power = select(abs(n) < 200, round_even(n), literal(n, -140.0));
    return scale(select(fits, x, 1.0), power);
  }

  Ex condition(int depth) {
    static const Op ops[] = {Op::eq, Op::ne, Op::lt, Op::le};
    if (depth >= 4) return leaf(DType::boolean);
    if (chance(4)) return expression(DType::boolean, 3) & expression(DType::boolean, 3);
    DType t = computed_type();
    if (t == DType::boolean) t = DType::i64;
    const Ex a = expression(t, depth + 1), b = expression(t, depth + 1);
    return b_.binary(ops[rng_() % std::size(ops)], a, b);
  }

  std::mt19937_64 rng_;
  Builder b_;
  std::vector<Array> arrays_;
  std::vector<Ex> pool_;                ///< values in scope
  std::vector<Region> regions_;         ///< open parallel loops
  std::vector<std::int32_t> reserved_;  ///< arrays that only the product accesses
  int loads_ = 6;                       ///< how many loads the statement may still make
};

}  // namespace rondel::scalar
