#pragma once
#include <cstdint>
#include <optional>
#include <string_view>
#include <variant>

namespace rondel::mdf {

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

using Number = std::variant<std::int64_t, double>;

/// The number that a text is, as Python's int() and float() read decimal ones: blanks around it, a
/// sign, underscores between digits, an exponent, "inf" and "nan". Nothing where it is none. An
/// integer that int64 cannot hold becomes a double.
std::optional<Number> number_in(std::string_view text);

}  // namespace rondel::mdf
