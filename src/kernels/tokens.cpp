#include "kernels/tokens.h"

#include "base/error.h"
#include "base/utf8.h"
#include "kernels/stop_check.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <string_view>

namespace rondel::kernels {
namespace {

using TokenExpression = std::shared_ptr<const re2::RE2>;
using TokenRow = std::vector<std::string_view>;

/// Of the matches that begin first, the longest counts, as in ONNX Runtime.
TokenExpression token_expression(const std::string& pattern) {
  re2::RE2::Options options(re2::RE2::Quiet);
  options.set_longest_match(true);
  auto made = std::make_shared<const re2::RE2>(pattern, options);
  require(made->ok(), "'{}' is no regular expression in RE2's syntax: {}", pattern, made->error());
  return made;
}

/// The number of bytes of the character that begins with this byte, in valid UTF-8.
std::size_t leading_bytes(char first) {
  const auto byte = static_cast<unsigned char>(first);
  return byte < 0x80 ? 1 : byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4;
}

std::int64_t count_characters(std::string_view text) {
  return std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; });
}

bool is_valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t bytes = character_length(text);
    if (bytes == 0) return false;
    text.remove_prefix(bytes);
  }
  return true;
}

class TextCutter {
 public:
  explicit TextCutter(const Tokens& spec) : spec_(spec) {
    for (const std::string& s : spec.separators) separators_.push_back(token_expression(s));
    if (!spec.expression.empty()) expression_ = token_expression(spec.expression);
  }

  TokenRow operator()(std::string_view text) const {
    if (spec_.characters) return in_characters(text);
    if (separators_.empty()) return matches(text);
    TokenRow row;
    if (!text.empty()) row.push_back(text);
    for (const TokenExpression& separator : separators_) {
      TokenRow pieces;
      for (const std::string_view piece : row) split(piece, *separator, pieces);
      row = std::move(pieces);
    }
    return row;
  }

 private:
  static TokenRow in_characters(std::string_view text) {
    TokenRow row;
    for (; !text.empty(); text.remove_prefix(row.back().size()))
      row.push_back(text.substr(0, leading_bytes(text[0])));
    return row;
  }

  /// The next match from `from` on; false if there is none.
  static bool find(std::string_view text, std::size_t from, const re2::RE2& e, std::size_t& at,
                   std::size_t& length) {
    re2::StringPiece found;
    const re2::StringPiece whole(text.data(), text.size());
    if (from > text.size() || !e.Match(whole, from, text.size(), re2::RE2::UNANCHORED, &found, 1))
      return false;
    at = static_cast<std::size_t>(found.data() - text.data());
    length = found.size();
    return true;
  }

  void add(std::string_view token, TokenRow& row) const {
    if (!token.empty() && count_characters(token) >= spec_.least) row.push_back(token);
  }

  /// A separator that matches nothing drops the character before which it does.
  void split(std::string_view text, const re2::RE2& separator, TokenRow& row) const {
    std::size_t begin = 0, at = 0, length = 0;
    while (find(text, begin, separator, at, length)) {
      add(text.substr(begin, at - begin), row);
      if (length == 0 && at == text.size()) return;
      begin = at + (length > 0 ? length : leading_bytes(text[at]));
    }
    if (begin < text.size()) add(text.substr(begin), row);
  }

  /// After a match that is too short, the search goes on one character later.
  TokenRow matches(std::string_view text) const {
    TokenRow row;
    std::size_t begin = 0, at = 0, length = 0;
    while (find(text, begin, *expression_, at, length) && at < text.size()) {
      const std::string_view token = text.substr(at, length);
      const bool taken = count_characters(token) >= spec_.least;
      if (taken) row.push_back(token);
      begin = at + (taken ? length : leading_bytes(text[at]));
    }
    return row;
  }

  const Tokens spec_;
  std::vector<TokenExpression> separators_;
  TokenExpression expression_;
};

void write_tokens(const Tokens& spec, const std::vector<TokenRow>& rows, std::size_t width,
                  std::string* to) {
  for (const TokenRow& row : rows) {
    std::string* const end = to + width;
    if (spec.mark) *to++ = "\x02";
    for (const std::string_view token : row) *to++ = token;
    if (spec.mark) *to++ = "\x03";
    while (to != end) *to++ = spec.pad;
  }
}

}  // namespace

UnsizedKernel tokens_of(const Tokens& spec) {
  return [spec, tokenizer = std::make_shared<const TextCutter>(spec)](UnsizedCall& call) {
    const Tensor x = call.packed(0);
    StopCheck stop(call);
    std::vector<TokenRow> rows;
    std::size_t width = 0;
    for (std::int64_t i = 0; i < x.size(); ++i) {
      const std::string& text = x.data_as<std::string>()[i];
      require(is_valid_utf8(text), "text {} is not UTF-8", i);
      rows.push_back((*tokenizer)(text));
      width = std::max(width, rows.back().size());
      stop.add_work(64 + static_cast<std::int64_t>(text.size()));
    }
    if (width > 0 && spec.mark) width += 2;
    Shape shape = x.shape();
    shape.push_back(static_cast<std::int64_t>(width));
    const Tensor y = call.make(0, DType::string, shape);
    if (width > 0) write_tokens(spec, rows, width, y.data_as<std::string>());
  };
}

}  // namespace rondel::kernels
