#pragma once
#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

/// Small helpers for messages and text forms.
namespace rondel {

/// The items of a range, each as `text(item)` gives it, with `separator` between them.
template <class Range, class Text>
std::string join(const Range& range, std::string_view separator, Text&& text) {
  std::string out;
  bool first = true;
  for (const auto& item : range) {
    if (!first) out += separator;
    first = false;
    out += text(item);
  }
  return out;
}

/// The same for items that fmt can print.
template <class Range> std::string join(const Range& range, std::string_view separator = ", ") {
  return join(range, separator, [](const auto& item) { return fmt::format("{}", item); });
}

/// The candidate nearest to `wanted` by edit distance, for "did you mean". Empty if no candidate is
/// near, or if `wanted` has more than 100 characters.
std::string closest(std::string_view wanted, const std::vector<std::string>& candidates);

/// The parts of `text` between occurrences of `separator`; one part if there is no separator.
std::vector<std::string> split(std::string_view text, char separator);

/// `text` with what has no blanks for 120 bytes or more cut: its first characters, and its length.
std::string with_short_words(std::string_view text);

/// `text` without blanks at either end.
std::string_view trimmed(std::string_view text);

}  // namespace rondel
