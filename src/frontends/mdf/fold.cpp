#include "frontends/mdf/fold.h"

#include <cmath>

namespace rondel::mdf {
namespace {

using Whole = std::int64_t;

/// x // y and x % y, whose sign is that of y.
template <class T> struct Division { T quotient, rest; };

Division<Whole> divided(Whole x, Whole y) {
  const Division<Whole> d{x / y, x % y};
  if (d.rest != 0 && (d.rest < 0) != (y < 0)) return {d.quotient - 1, d.rest + y};
  return d;
}

/// The remainder is subtracted first, as in `floored_quotient` of arithmetic.cpp.
Division<double> divided(double x, double y) {
  double rest = std::fmod(x, y), quotient = (x - rest) / y;
  if (rest != 0 && (rest < 0) != (y < 0)) {
    rest += y;
    quotient -= 1;
  }
  if (rest == 0) rest = std::copysign(0.0, y);
  if (quotient == 0) return {std::copysign(0.0, x / y), rest};
  const double floor = std::floor(quotient);
  return {quotient - floor > 0.5 ? floor + 1 : floor, rest};
}

std::optional<Number> power(Whole x, Whole y) {
  if (y < 0) return std::pow(static_cast<double>(x), static_cast<double>(y));
  Whole out = 1;
  // The powers of 0, 1 and -1 need no more than two factors; others soon exceed 64 bits.
  if (x >= -1 && x <= 1 && y > 2) y = 2 - y % 2;
  for (; y > 0; --y)
    if (__builtin_mul_overflow(out, x, &out)) return std::nullopt;
  return out;
}

std::optional<Number> folded_whole(std::string_view sign, Whole x, Whole y) {
  Whole out = 0;
  if (sign == "+" && !__builtin_add_overflow(x, y, &out)) return out;
  if (sign == "-" && !__builtin_sub_overflow(x, y, &out)) return out;
  if (sign == "*" && !__builtin_mul_overflow(x, y, &out)) return out;
  if (sign == "**" && (x != 0 || y >= 0)) return power(x, y);
  if (y == 0) return std::nullopt;
  if (sign == "/") return static_cast<double>(x) / static_cast<double>(y);
  if (y == -1) return std::nullopt;  // the quotient of the least integer overflows
  if (sign == "//") return divided(x, y).quotient;
  if (sign == "%") return divided(x, y).rest;
  return std::nullopt;
}

std::optional<Number> folded_real(std::string_view sign, double x, double y) {
  if (sign == "+") return x + y;
  if (sign == "-") return x - y;
  if (sign == "*") return x * y;
  if (sign == "**") return std::pow(x, y);
  if (y == 0) return std::nullopt;
  if (sign == "/") return x / y;
  if (sign == "//") return divided(x, y).quotient;
  if (sign == "%") return divided(x, y).rest;
  return std::nullopt;
}

}  // namespace

std::optional<Number> folded(std::string_view sign, const Number& x, const Number& y) {
  const auto *i = std::get_if<Whole>(&x), *j = std::get_if<Whole>(&y);
  if (i != nullptr && j != nullptr) return folded_whole(sign, *i, *j);
  const auto real = [](const Number& n) {
    return std::visit([](auto v) { return static_cast<double>(v); }, n);
  };
  return folded_real(sign, real(x), real(y));
}

}  // namespace rondel::mdf
