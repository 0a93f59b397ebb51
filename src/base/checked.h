#pragma once
#include "base/error.h"

#include <cstdint>
#include <string_view>

/// Arithmetic on sizes that come from models and inputs: an overflow is the caller's error.
/// `what` names the quantity in the message.
namespace rondel {

inline std::int64_t checked_add(std::int64_t a, std::int64_t b, std::string_view what = "size") {
  std::int64_t sum = 0;
  require(!__builtin_add_overflow(a, b, &sum), "{}: {} + {} does not fit into 64 bits", what, a, b);
  return sum;
}

inline std::int64_t checked_sub(std::int64_t a, std::int64_t b, std::string_view what = "size") {
  std::int64_t difference = 0;
  require(!__builtin_sub_overflow(a, b, &difference), "{}: {} - {} does not fit into 64 bits", what,
          a, b);
  return difference;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b, std::string_view what = "size") {
  std::int64_t product = 0;
  require(!__builtin_mul_overflow(a, b, &product), "{}: {} * {} does not fit into 64 bits", what, a,
          b);
  return product;
}

/// a / b rounded up, for b > 0; 0 if a is negative.
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a - 1) / b + 1;
}

}  // namespace rondel
