#include "base/text.h"

#include "base/utf8.h"

#include <algorithm>

namespace rondel {
namespace {

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row[b.size()];
}

/// Longer words are hardly typing errors, and comparing them takes long.
constexpr std::size_t longest_compared = 100;

}  // namespace

std::string closest(std::string_view wanted, const std::vector<std::string>& candidates) {
  if (wanted.size() > longest_compared) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = std::max<std::size_t>(2, wanted.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t longer = std::max(wanted.size(), candidate.size());
    if (longer - std::min(wanted.size(), candidate.size()) >= best_distance) continue;
    const std::size_t distance = edit_distance(wanted, candidate);
    if (distance >= best_distance) continue;
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
