#pragma once
#include "ir/builder.h"

#include <cstdint>
#include <limits>

namespace rondel::passes {

/// An int64 that a run computes, between two numbers that are known: a scalar, or a constant.
struct BoundedInteger {
  ir::ValueId value = ir::ValueId::none;  ///< none: the number is `least`
  std::int64_t least, most;
  bool known() const { return least == most; }
};

/// Appends arithmetic on such integers. What follows from the bounds is not computed; no result
/// wraps around, unless the function says so.
class BoundedArithmetic {
 public:
  static constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  static constexpr std::int64_t smallest = std::numeric_limits<std::int64_t>::min();

  explicit BoundedArithmetic(ir::Builder& b) : b_(b) {}

  static BoundedInteger number(std::int64_t v) { return {ir::ValueId::none, v, v}; }
  /// A tensor of one integer, of any dtype but u64.
  BoundedInteger of(ir::ValueId);
  ir::ValueId value(const BoundedInteger&);  ///< as a scalar
  ir::ValueId scalar(ir::ValueId);           ///< a tensor of one element as a scalar

  /// Requires that the result fits.
  BoundedInteger add(const BoundedInteger&, std::int64_t);
  BoundedInteger min(const BoundedInteger&, const BoundedInteger&);
  BoundedInteger max(const BoundedInteger&, const BoundedInteger&);
  /// `to - from` if that is positive, else any number that is not; at most `largest`.
  BoundedInteger distance(const BoundedInteger& from, const BoundedInteger& to);
  /// `to - from` modulo 2^bits, at most `largest`. Requires that both fit in `bits`.
  BoundedInteger distance_around(const BoundedInteger& from, const BoundedInteger& to, int bits);
  /// The quotient of a number that is not negative, rounded up. Requires that the sum of both fits.
  BoundedInteger divide_up(const BoundedInteger&, std::int64_t divisor);
  /// `exception` where `a` is greater (or less) than `limit`, else `otherwise`.
  BoundedInteger where_greater(const BoundedInteger& a, std::int64_t limit, std::int64_t exception,
                               const BoundedInteger& otherwise);
  BoundedInteger where_less(const BoundedInteger& a, std::int64_t limit, std::int64_t exception,
                            const BoundedInteger& otherwise);
  BoundedInteger where(ir::ValueId condition, const BoundedInteger& a, const BoundedInteger& b);

 private:
  BoundedInteger binary(const char* op, const BoundedInteger& a, const BoundedInteger& b,
                        std::int64_t least, std::int64_t most);
  BoundedInteger subtract(const BoundedInteger& a, const BoundedInteger& b);

  ir::Builder& b_;
};

/// The least and the greatest value of an integer dtype other than u64.
std::int64_t least_of(DType);
std::int64_t most_of(DType);

}  // namespace rondel::passes
