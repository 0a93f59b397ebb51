#include "frontends/mdf/yaml_scalar.h"

#include "base/text.h"
#include "frontends/mdf/number.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>

namespace rondel::mdf {
namespace {

/// Whether a text is one of these words, in lower case, upper case or capitalized.
template <std::size_t n>
bool is_one_of(const std::string& text, const std::array<std::string_view, n>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) {
    if (text.size() != word.size()) return false;
    const auto upper = [](char c) { return 'a' <= c && c <= 'z' ? static_cast<char>(c - 32) : c; };
    const auto matches = [&](std::size_t capitals) {
      for (std::size_t k = 0; k < word.size(); ++k)
        if (text[k] != (k < capitals ? upper(word[k]) : word[k])) return false;
      return true;
    };
    const std::size_t first = word.starts_with('.') ? 2 : 1;
    return matches(0) || matches(first) || matches(word.size());
  });
}

int digit(char c) {
  if (is_digit(c)) return c - '0';
  if ('a' <= c && c <= 'f') return c - 'a' + 10;
  if ('A' <= c && c <= 'F') return c - 'A' + 10;
  return 99;
}

/// Parses digits of a base, with underscores among them; nothing for other texts. In bases 2, 8 and
/// 16, a number that does not fit in int64 becomes a double.
std::optional<Number> digits_in(std::string_view text, int base) {
  std::int64_t whole = 0;
  double real = 0;
  bool fits = true, any = false;
  for (const char c : text) {
    if (c == '_') continue;
    const int d = digit(c);
    if (d >= base) return std::nullopt;
    any = true;
    real = real * base + d;
    fits = fits && !__builtin_mul_overflow(whole, base, &whole) &&
           !__builtin_add_overflow(whole, d, &whole);
  }
  if (!any || (!fits && base == 10)) return std::nullopt;  // `number_in` rounds them once
  return fits ? Number(whole) : Number(real);
}

/// Parses a base-60 number "1:30:15", whose last part may have a fraction.
std::optional<Number> sexagesimal(std::string_view text) {
  const std::vector<std::string> parts = split(text, ':');
  if (parts.size() < 2 || !is_digit(text[0])) return std::nullopt;
  Number sum = std::int64_t{0};
  for (std::size_t k = 0; k < parts.size(); ++k) {
    const bool fraction = k + 1 == parts.size() && parts[k].find('.') != std::string::npos;
    const auto part = fraction ? number_in(parts[k]) : digits_in(parts[k], 10);
    if (!part || parts[k].empty()) return std::nullopt;
    sum = std::visit(
        [](auto high, auto low) -> Number {
          if constexpr (std::is_same_v<decltype(high), std::int64_t> &&
                        std::is_same_v<decltype(low), std::int64_t>) {
            std::int64_t all = 0;
            if (!__builtin_mul_overflow(high, 60, &all) && !__builtin_add_overflow(all, low, &all))
              return all;
          }
          return static_cast<double>(high) * 60 + static_cast<double>(low);
        },
        sum, *part);
    if (k > 0 && std::visit([](auto x) { return x >= 60; }, *part)) return std::nullopt;
  }
  return sum;
}

std::optional<Number> unsigned_number(std::string_view text) {
  if (text.starts_with("0x")) return digits_in(text.substr(2), 16);
  if (text.starts_with("0b")) return digits_in(text.substr(2), 2);
  if (text.size() > 1 && text[0] == '0')
    if (const auto octal = digits_in(text.substr(1), 8)) return octal;
  if (!text.empty() && is_digit(text[0]))
    if (const auto decimal = digits_in(text, 10)) return decimal;
  return sexagesimal(text);
}

Document negated(const Number& n, bool negative) {
  return std::visit([&](auto x) { return Document{negative ? -x : x}; }, n);
}

}  // namespace

Document plain_scalar(const std::string& text) {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  using Words = std::array<std::string_view, 3>;
  if (text.empty() || text == "~" || is_one_of(text, std::array<std::string_view, 1>{"null"}))
    return {};
  if (is_one_of(text, Words{"true", "yes", "on"})) return {true};
  if (is_one_of(text, Words{"false", "no", "off"})) return {false};
  const bool negative = text[0] == '-';
  const std::string size = text.substr(negative || text[0] == '+' ? 1 : 0);
  // PyYAML accepts .nan, .NaN and .NAN; and .inf, .Inf and .INF.
  if (text == ".nan" || text == ".NaN" || text == ".NAN")
    return {std::numeric_limits<double>::quiet_NaN()};
  if (is_one_of(size, std::array<std::string_view, 1>{".inf"}))
    return {negative ? -infinity : infinity};
  if (const auto n = unsigned_number(size)) return negated(*n, negative);
  if (text.find_first_of("0123456789") != std::string::npos)
    if (const auto n = number_in(text)) return negated(*n, false);
  return {text};
}

}  // namespace rondel::mdf
