#include "frontends/mdf/number.h"

#include "base/text.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <limits>
#include <string>

namespace rondel::mdf {
namespace {

/// Removes underscores; nothing if one is not between digits.
std::optional<std::string> without_underscores(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '_') {
      out += text[i];
    } else if (i == 0 || i + 1 == text.size() || !is_digit(text[i - 1]) || !is_digit(text[i + 1])) {
      return std::nullopt;
    }
  }
  return out;
}

std::string lower(std::string_view text) {
  std::string out(text);
  std::ranges::transform(out, out.begin(), [](unsigned char c) { return std::tolower(c); });
  return out;
}

}  // namespace

std::optional<Number> number_in(std::string_view text) {
  text = trimmed(text);
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (const std::string word = lower(text); word == "inf" || word == "infinity" || word == "nan") {
    const double size = word == "nan" ? std::numeric_limits<double>::quiet_NaN()
                                      : std::numeric_limits<double>::infinity();
    return negative ? -size : size;
  }
  if (text.empty() || (!is_digit(text[0]) && text[0] != '.')) return std::nullopt;
  const auto digits = without_underscores(text);
  if (!digits) return std::nullopt;
  const std::string signed_digits = (negative ? "-" : "") + *digits;
  const char* const first = signed_digits.data();
  const char* const last = first + signed_digits.size();
  std::int64_t integer = 0;
  if (const auto r = std::from_chars(first, last, integer); r.ptr == last && r.ec == std::errc())
    return integer;
  double real = 0;
  const auto r = std::from_chars(first, last, real);
  if (r.ptr != last || r.ec == std::errc::invalid_argument) return std::nullopt;
  if (r.ec == std::errc::result_out_of_range) return std::strtod(first, nullptr);
  return real;
}

}  // namespace rondel::mdf
