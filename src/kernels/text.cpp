#include "kernels/text.h"

#include "base/error.h"
#include "kernels/stop_check.h"

#include <clocale>
#include <cwctype>
#include <locale.h>
#include <optional>
#include <unordered_set>

namespace rondel::kernels {
namespace {

constexpr std::string_view white = " \t\n\v\f\r";

using Parts = std::vector<std::string_view>;

Parts split_at_white(std::string_view text, std::int64_t most) {
  Parts parts;
  std::size_t at = text.find_first_not_of(white);
  while (at != std::string_view::npos) {
    if (most >= 0 && std::ssize(parts) == most) {
      parts.push_back(text.substr(at));
      break;
    }
    const std::size_t end = std::min(text.find_first_of(white, at), text.size());
    parts.push_back(text.substr(at, end - at));
    at = text.find_first_not_of(white, end);
  }
  return parts;
}

Parts split_at(std::string_view text, std::string_view delimiter, std::int64_t most) {
  Parts parts;
  while (most < 0 || std::ssize(parts) < most) {
    const std::size_t end = text.find(delimiter);
    if (end == std::string_view::npos) break;
    parts.push_back(text.substr(0, end));
    text.remove_prefix(end + delimiter.size());
  }
  parts.push_back(text);
  return parts;
}

/// The locale whose letters are those of Unicode; null if the system has none.
locale_t unicode() {
  static const locale_t own = newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  return own;
}

/// The character at the beginning of `text` and its number of bytes; nothing if it is no UTF-8.
std::optional<std::pair<char32_t, std::size_t>> character(std::string_view text) {
  const auto byte = [&](std::size_t k) { return static_cast<unsigned char>(text[k]); };
  const unsigned char first = byte(0);
  if (first < 0x80) return std::pair{static_cast<char32_t>(first), std::size_t{1}};
  const std::size_t bytes = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4 || text.size() < bytes) return std::nullopt;
  char32_t code = first & (0x7FU >> bytes);
  for (std::size_t k = 1; k < bytes; ++k) {
    if ((byte(k) & 0xC0U) != 0x80U) return std::nullopt;
    code = code << 6U | (byte(k) & 0x3FU);
  }
  return std::pair{code, bytes};
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
  StopCheck stop(call);
  std::vector<Parts> all(static_cast<std::size_t>(x.size()));
  std::size_t longest = 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i] = delimiter.empty() ? split_at_white(texts[i], most)
                               : split_at(texts[i], delimiter, most);
    longest = std::max(longest, all[i].size());
    stop.add_work(16 + static_cast<std::int64_t>(texts[i].size()));
  }
  Shape shape = x.shape();
  shape.push_back(static_cast<std::int64_t>(longest));
  const Tensor y = call.make(0, DType::string, shape);
  auto* part = y.data_as<std::string>();
  for (const Parts& parts : all) {
    for (std::size_t k = 0; k < longest; ++k)
      *part++ = k < parts.size() ? std::string(parts[k]) : std::string();
    stop.add_work(16 * static_cast<std::int64_t>(longest) + 1);
  }
  if (call.output_count() < 2) return;
  const Tensor counts = call.make(1, DType::i64, x.shape());
  for (std::size_t i = 0; i < all.size(); ++i)
    counts.data_as<std::int64_t>()[i] = std::ssize(all[i]);
}

std::string in_case(std::string_view text, Case wanted) {
  std::string out;
  while (wanted != Case::kept && !text.empty()) {
    const auto next = character(text);
    if (!next) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    auto code = static_cast<wint_t>(next->first);
    if (unicode() != nullptr)
      code = wanted == Case::lower ? towlower_l(code, unicode()) : towupper_l(code, unicode());
    append(out, static_cast<char32_t>(code));
    text.remove_prefix(next->second);
  }
  return wanted == Case::kept ? std::string(text) : out;
}

void normalize_strings(UnsizedCall& call, const NormalizedStrings& spec) {
  const Tensor x = call.packed(0);
  const auto compared = [&](const std::string& s) {
    return spec.case_sensitive ? s : in_case(s, Case::lower);
  };
  std::unordered_set<std::string> stopwords;
  for (const std::string& word : spec.stopwords) stopwords.insert(compared(word));
  StopCheck stop(call);
  std::vector<std::string> kept;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::string& text = x.data_as<std::string>()[i];
    stop.add_work(16 + static_cast<std::int64_t>(text.size()) * 4);
    if (stopwords.empty() || !stopwords.contains(compared(text)))
      kept.push_back(in_case(text, spec.change));
  }
  if (kept.empty()) kept.emplace_back();
  Shape shape = x.shape();
  shape.back() = std::ssize(kept);
  const Tensor y = call.make(0, DType::string, shape);
  std::move(kept.begin(), kept.end(), y.data_as<std::string>());
}

}  // namespace rondel::kernels
