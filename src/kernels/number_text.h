#pragma once
#include "kernels/unsized_kernel.h"

#include <cmath>
#include <limits>
#include <string>
#include <string_view>

/// Numbers as text, for casts to and from strings.
namespace rondel::kernels {

/// True for f32, f64, i64, u64 and bool. Other dtypes must be converted to one of these first.
bool has_text(DType);

/// The shortest decimal that reads back as the same number ("0.1", "1.0", "1e-07", "NaN", "-INF").
std::string number_text(float);
std::string number_text(double);
/// Parses a number. Blanks around it are ignored; "inf", "infinity" and "nan" are accepted in upper
/// and lower case. Throws Error(caller) unless the whole text is one number.
double text_number(std::string_view);
/// x as T, an integer, a float or bool: integers saturate, their NaN is 0; fractions are dropped.
template <class T> T saturated(double x) {
  if constexpr (std::is_same_v<T, bool>) return x != 0;
  else if constexpr (std::is_floating_point_v<T>) return static_cast<T>(x);
  else {
    if (std::isnan(x)) return 0;
    const auto low = static_cast<double>(std::numeric_limits<T>::min());
    const double high = std::ldexp(1.0, std::numeric_limits<T>::digits);
    if (x < low) return std::numeric_limits<T>::min();
    return x >= high ? std::numeric_limits<T>::max() : static_cast<T>(x);
  }
}
/// A number in text as T, f32 or i64, as `text_number` and `saturated` say.
template <class T> T text_as(std::string_view);

/// Converts the numbers of input 0 to strings.
void numbers_to_text(UnsizedCall&);
/// Converts the strings of input 0 to `to`. Integers out of range saturate; fractions are dropped.
void text_to_numbers(UnsizedCall&, DType to);

}  // namespace rondel::kernels
