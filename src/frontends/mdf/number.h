#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace rondel::mdf {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

using Number = std::variant<std::int64_t, double>;

/// Parses a decimal number as Python's int() and float() do: surrounding blanks, a sign,
/// underscores between digits, an exponent, "inf" and "nan" are allowed. Nothing if the text is not
/// a number. An integer that does not fit in int64 becomes a double.
std::optional<Number> number_in(std::string_view text);

/// Parses an integer of another base as Python writes it: 0x10, 0o17, 0b1. Nothing if the text is
/// none, or if it does not fit in int64.
std::optional<std::int64_t> based_integer_in(std::string_view text);
/// Whether a text begins with the prefix of such an integer.
bool has_base(std::string_view text);

}  // namespace rondel::mdf
