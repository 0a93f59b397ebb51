#include "kernels/text.h"

#include "base/error.h"
#include "base/utf8.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <clocale>
#include <cwctype>
#include <locale.h>
#include <optional>
#include <unordered_set>

namespace rondel::kernels {
namespace {

using Parts = std::vector<std::string_view>;

/// The character at the beginning of `text` and its number of bytes; nothing if it is no UTF-8.
std::optional<std::pair<char32_t, std::size_t>> character(std::string_view text) {
  const std::size_t bytes = character_length(text);
  if (bytes == 0) return std::nullopt;
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  char32_t code = bytes == 1 ? byte(0) : byte(0) & (0x7FU >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) code = code << 6U | (byte(k) & 0x3FU);
  return std::pair{code, bytes};
}

/// Whether Python's `str.isspace` holds for the character.
bool is_white(char32_t code) {
  struct Range {
    char32_t first, last;
  };
  static constexpr Range white[] = {
      {0x09, 0x0D},     {0x1C, 0x20},     {0x85, 0x85},     {0xA0, 0xA0},     {0x1680, 0x1680},
      {0x2000, 0x200A}, {0x2028, 0x2029}, {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000},
  };
  return std::ranges::any_of(white,
                             [&](const Range& r) { return code >= r.first && code <= r.last; });
}

/// Appends the parts of the text. Bytes that are no UTF-8 are not white.
void split_at_white(std::string_view text, std::int64_t most, Parts& parts) {
  const auto after = [&](std::size_t at, bool blank) {
    while (at < text.size()) {
      const auto next = character(text.substr(at));
      if ((next && is_white(next->first)) != blank) break;
      at += next ? next->second : 1;
    }
    return at;
  };
  std::int64_t splits = 0;
  for (std::size_t at = after(0, true); at < text.size(); ++splits) {
    const std::size_t end = splits == most ? text.size() : after(at, false);
    parts.push_back(text.substr(at, end - at));
    at = after(end, true);
  }
}

void split_at(std::string_view text, std::string_view delimiter, std::int64_t most, Parts& parts) {
  for (std::int64_t splits = 0; splits != most; ++splits) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.push_back(text);
}

/// The locale whose letters are those of Unicode; null if the system has none.
locale_t unicode() {
  static const locale_t own = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return own;
}

/// Another case of a character. Letters of ASCII are alike in all locales.
char32_t changed(char32_t code, Case wanted) {
  if (code < 0x80) {
    const char32_t first = wanted == Case::lower ? U'A' : U'a';
    return code - first < 26 ? code ^ 0x20U : code;
  }
  const locale_t letters = unicode();
  if (letters == nullptr) return code;
  const auto wide = static_cast<wint_t>(code);
  return static_cast<char32_t>(wanted == Case::lower ? towlower_l(wide, letters)
                                                     : towupper_l(wide, letters));
}

void append(std::string& to, char32_t code) {
  const auto put = [&](char32_t byte) { to += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  if (code < 0x800) return put(0xC0 | code >> 6U), put(0x80 | (code & 0x3FU));
  if (code < 0x10000) put(0xE0 | code >> 12U);
  else put(0xF0 | code >> 18U), put(0x80 | (code >> 12U & 0x3FU));
  put(0x80 | (code >> 6U & 0x3FU));
  put(0x80 | (code & 0x3FU));
}

}  // namespace

void split_strings(UnsizedCall& call, const std::string& delimiter, std::int64_t most) {
  const Tensor x = call.packed(0);
  const auto* texts = x.data_as<std::string>();
  const auto count = static_cast<std::size_t>(x.size());
  StopCheck stop(call);
  Parts parts;  // of all texts; those of text i end at ends[i]
  std::vector<std::size_t> ends(count);
  std::size_t longest = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t begin = parts.size();
    if (delimiter.empty()) split_at_white(texts[i], most, parts);
    else split_at(texts[i], delimiter, most, parts);
    ends[i] = parts.size();
    longest = std::max(longest, ends[i] - begin);
    stop.add_work(16 + static_cast<std::int64_t>(texts[i].size()));
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<std::int64_t>(longest));
  auto* to = call.make(0, DType::string, shape).data_as<std::string>();
  auto* counts = call.output_count() > 1
                     ? call.make(1, DType::i64, x.shape()).data_as<std::int64_t>()
                     : nullptr;
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t own = ends[i] - at;
    for (std::size_t k = 0; k < own; ++k) (to++)->assign(parts[at++]);
    for (std::size_t k = own; k < longest; ++k) (to++)->clear();
    if (counts != nullptr) counts[i] = static_cast<std::int64_t>(own);
    stop.add_work(16 * static_cast<std::int64_t>(longest) + 1);
  }
}

std::string in_case(std::string_view text, Case wanted) {
  if (wanted == Case::kept) return std::string(text);
  std::string out;
  out.reserve(text.size());
  while (!text.empty()) {
    const auto next = character(text);
    const std::size_t bytes = next ? next->second : 1;
    if (!next) out += text[0];
    else append(out, changed(next->first, wanted));
    text.remove_prefix(bytes);
  }
  return out;
}

void normalize_strings(UnsizedCall& call, const NormalizedStrings& spec) {
  const Tensor x = call.packed(0);
  const std::int64_t count = x.size();
  std::unordered_set<std::string> stopwords;
  for (const std::string& word : spec.stopwords)
    stopwords.insert(spec.case_sensitive ? word : in_case(word, Case::lower));
  const auto is_kept = [&](const std::string& text) {
    if (stopwords.empty()) return true;
    return !stopwords.contains(spec.case_sensitive ? text : in_case(text, Case::lower));
  };
  StopCheck stop(call);
  std::vector<std::string> kept;
  kept.reserve(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const std::string& text = x.data_as<std::string>()[i];
    stop.add_work(16 + static_cast<std::int64_t>(text.size()) * 4);
    if (is_kept(text)) kept.push_back(in_case(text, spec.change));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape = x.shape();
  shape.back() = std::ssize(kept);
  const Tensor y = call.make(0, DType::string, shape);
  std::move(kept.begin(), kept.end(), y.data_as<std::string>());
}

}  // namespace rondel::kernels
