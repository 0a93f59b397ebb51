#include "base/text.h"

#include "base/utf8.h"

#include <algorithm>
#include <utility>

namespace rondel {
namespace {

/// The number of letters to insert, delete, replace or exchange with the next.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1), above(row), second_above(row);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    second_above = std::exchange(above, row);
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = above[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, above[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], second_above[j - 2] + 1);
    }
  }
  return row[b.size()];
}

/// The most edits between two words, the longer of which has `letters`, that are a typing error.
std::size_t most_edits(std::size_t letters) { return std::max<std::size_t>(1, (letters + 1) / 3); }

/// Longer words are hardly typing errors, and comparing them takes long.
constexpr std::size_t longest_compared = 100;

}  // namespace

std::string closest(std::string_view wanted, const std::vector<std::string>& candidates) {
  if (wanted.size() > longest_compared) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = longest_compared;
  for (const std::string& candidate : candidates) {
    const auto [shorter, longer] = std::minmax({wanted.size(), candidate.size()});
    const std::size_t most = most_edits(longer);
    if (longer - shorter > most || longer - shorter >= best_distance) continue;
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance > most || distance >= best_distance) continue;
    best = &candidate;
    best_distance = distance;
  }
  return best ? *best : std::string();
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const std::size_t at = text.find(separator);
    parts.emplace_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

namespace {

/// The first characters of UTF-8 text.
std::string_view first_characters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  for (; count > 0 && end < text.size(); --count)
    end += std::max<std::size_t>(1, character_length(text.substr(end)));
  return text.substr(0, end);
}

}  // namespace

std::string with_short_words(std::string_view text) {
  constexpr std::size_t most = 120, kept = 40;
  std::string out;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of(" \t\n", begin), text.size());
    const std::string_view word = text.substr(begin, end - begin);
    if (word.size() < most) out += word;
    else out += fmt::format("{}... ({} bytes)", first_characters(word, kept), word.size());
    if (end < text.size()) out += text[end];
    begin = end + 1;
  }
  return out;
}

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

}  // namespace rondel
