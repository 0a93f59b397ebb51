#include "passes/bounded_integers.h"

#include "passes/linear_forms.h"

#include <algorithm>

namespace rondel::passes {

using ir::Type;
using ir::ValueId;

std::int64_t least_of(DType t) { return is_signed_integer(t) ? -1 - most_of(t) : 0; }

std::int64_t most_of(DType t) {
  const int used = bits(t) - (is_signed_integer(t) ? 1 : 0);
  return static_cast<std::int64_t>((std::uint64_t{1} << used) - 1);
}

ValueId BoundedArithmetic::scalar(ValueId v) {
  const Type& t = b_.graph().value(v).type;
  return t.has_rank() && t.rank() == 0 ? v : b_("reshape", {v, b_.integers({})});
}

BoundedInteger BoundedArithmetic::of(ValueId v) {
  if (const auto known = integer_constant(b_.graph(), v)) return number(*known);
  const DType from = b_.graph().value(v).type.dtype();
  ValueId y = scalar(v);
  if (from != DType::i64) y = b_("convert", {y}, {{"to", Type::scalar(DType::i64)}});
  return {y, least_of(from), most_of(from)};
}

ValueId BoundedArithmetic::value(const BoundedInteger& a) {
  return a.value != ValueId::none ? a.value : b_.scalar(a.least);
}

BoundedInteger BoundedArithmetic::binary(const char* op, const BoundedInteger& a,
                                         const BoundedInteger& b, std::int64_t least,
                                         std::int64_t most) {
  if (least == most) return number(least);
  const ValueId x = value(a), y = value(b);
  return {b_(op, {x, y}), least, most};
}

BoundedInteger BoundedArithmetic::add(const BoundedInteger& a, std::int64_t n) {
  if (n == 0) return a;
  return binary("add", a, number(n), a.least + n, a.most + n);
}

BoundedInteger BoundedArithmetic::min(const BoundedInteger& a, const BoundedInteger& b) {
  if (a.most <= b.least) return a;
  if (b.most <= a.least) return b;
  return binary("min", a, b, std::min(a.least, b.least), std::min(a.most, b.most));
}

BoundedInteger BoundedArithmetic::max(const BoundedInteger& a, const BoundedInteger& b) {
  if (a.least >= b.most) return a;
  if (b.least >= a.most) return b;
  return binary("max", a, b, std::max(a.least, b.least), std::max(a.most, b.most));
}

/// Requires that the result fits.
BoundedInteger BoundedArithmetic::subtract(const BoundedInteger& a, const BoundedInteger& b) {
  if (b.known() && b.least == 0) return a;
  return binary("sub", a, b, a.least - b.most, a.most - b.least);
}

BoundedInteger BoundedArithmetic::distance(const BoundedInteger& from, const BoundedInteger& to) {
  std::int64_t least = 0, most = 0;
  if (!__builtin_sub_overflow(to.least, from.most, &least) &&
      !__builtin_sub_overflow(to.most, from.least, &most))
    return subtract(to, from);
  if (from.known()) {
    const std::int64_t last = from.least > 0 ? largest : from.least + largest;
    return subtract(min(max(to, from), number(last)), from);
  }
  if (to.known()) {
    const std::int64_t first = to.least < -1 ? smallest : to.least - largest;
    return subtract(to, max(min(from, to), number(first)));
  }
  // The larger of the two minus `from` wraps around to a negative number if it is too large.
  const BoundedInteger d{b_("sub", {value(max(to, from)), value(from)}), smallest, largest};
  return where_less(d, 0, largest, {d.value, 0, largest});
}

BoundedInteger BoundedArithmetic::distance_around(const BoundedInteger& from,
                                                  const BoundedInteger& to, int bits) {
  const bool is_narrow = bits < 64;
  if (from.known() && to.known()) {
    const std::uint64_t d = static_cast<std::uint64_t>(to.least) -
                            static_cast<std::uint64_t>(from.least);
    const std::uint64_t in_bits = is_narrow ? d & ((std::uint64_t{1} << bits) - 1) : d;
    return number(static_cast<std::int64_t>(std::min<std::uint64_t>(in_bits, largest)));
  }
  std::int64_t least = 0, most = 0;
  if (!__builtin_sub_overflow(to.least, from.most, &least) &&
      !__builtin_sub_overflow(to.most, from.least, &most) && least >= 0)
    return subtract(to, from);
  const ValueId x = value(to), y = value(from);
  const BoundedInteger d{b_("sub", {x, y}), smallest, largest};
  if (!is_narrow) return where_less(d, 0, largest, {d.value, 0, largest});
  const std::int64_t size = std::int64_t{1} << bits;
  const ValueId around = b_("add", {d.value, b_.scalar(size)});
  const ValueId is_less = b_("less", {d.value, b_.scalar(std::int64_t{0})});
  return {b_("where", {is_less, around, d.value}), 0, size - 1};
}

BoundedInteger BoundedArithmetic::divide_up(const BoundedInteger& a, std::int64_t divisor) {
  if (divisor == 1) return a;
  return binary("div", add(a, divisor - 1), number(divisor), (a.least + divisor - 1) / divisor,
                (a.most + divisor - 1) / divisor);
}

BoundedInteger BoundedArithmetic::where(ValueId condition, const BoundedInteger& a,
                                        const BoundedInteger& b) {
  const ValueId x = value(a), y = value(b);
  return {b_("where", {condition, x, y}), std::min(a.least, b.least), std::max(a.most, b.most)};
}

BoundedInteger BoundedArithmetic::where_greater(const BoundedInteger& a, std::int64_t limit,
                                                std::int64_t exception,
                                                const BoundedInteger& otherwise) {
  if (a.most <= limit) return otherwise;
  if (a.least > limit) return number(exception);
  return where(b_("greater", {value(a), b_.scalar(limit)}), number(exception), otherwise);
}

BoundedInteger BoundedArithmetic::where_less(const BoundedInteger& a, std::int64_t limit,
                                             std::int64_t exception,
                                             const BoundedInteger& otherwise) {
  if (a.least >= limit) return otherwise;
  if (a.most < limit) return number(exception);
  return where(b_("less", {value(a), b_.scalar(limit)}), number(exception), otherwise);
}

}  // namespace rondel::passes
