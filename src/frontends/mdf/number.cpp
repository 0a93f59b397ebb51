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

bool is_digit_of_any_base(char c) { return std::isxdigit(static_cast<unsigned char>(c)) != 0; }

/// Removes underscores; nothing if one is not between digits.
std::optional<std::string> without_underscores(std::string_view text, bool (*is_digit)(char)) {
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
  const auto digits = without_underscores(text, is_digit);
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

bool has_base(std::string_view text) {
  return text.size() > 1 && text[0] == '0' &&
         std::string_view("xXoObB").find(text[1]) != std::string_view::npos;
}

std::optional<std::int64_t> based_integer_in(std::string_view text) {
  if (!has_base(text)) return std::nullopt;
  const int letter = std::tolower(static_cast<unsigned char>(text[1]));
  text.remove_prefix(text.size() > 2 && text[2] == '_' ? 3 : 2);
  const auto digits = without_underscores(text, is_digit_of_any_base);
  if (!digits || digits->empty()) return std::nullopt;
  std::int64_t n = 0;
  const char* const last = digits->data() + digits->size();
  const auto r = std::from_chars(digits->data(), last, n,
                                 letter == 'x'   ? 16
                                 : letter == 'o' ? 8
                                                 : 2);
  if (r.ptr != last || r.ec != std::errc()) return std::nullopt;
  return n;
}

}  // namespace rondel::mdf
