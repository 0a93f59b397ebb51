// Parses JSON to a Document with nlohmann's parser.
#include "base/error.h"
#include "frontends/mdf/document.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>
#include <span>
#include <unordered_set>

namespace rondel::mdf {
namespace {

/// An iterator over the text that reports the parser's position in `*read`.
class Reading {
 public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  Reading(const char* at, const char** read) : at_(at), read_(read) {}
  reference operator*() const { return *at_; }
  Reading& operator++() {
    *read_ = ++at_;
    return *this;
  }
  Reading operator++(int) {
    const Reading before = *this;
    ++*this;
    return before;
  }
  bool operator==(const Reading& other) const { return at_ == other.at_; }

 private:
  const char* at_;
  const char** read_;
};

/// "line 1, column 2: ", the position of the character at an offset.
std::string place_of(std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, offset);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::string_view row = before.substr(before.rfind('\n') + 1);
  const auto column = std::ranges::count_if(row, [](char c) { return (c & 0xc0) != 0x80; }) + 1;
  return fmt::format("line {}, column {}: ", line, column);
}

/// NaN or an infinity, which Python's json writes although JSON does not have it.
struct NotFinite {
  std::size_t end;  ///< the end of the 0 that replaces it
  double value;
};

/// Finds all of them in a text, and replaces each by a 0 and blanks.
std::vector<NotFinite> take_not_finite(std::string& text) {
  std::vector<NotFinite> out;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '"') in_string = !in_string;
    if (in_string && text[i] == '\\') ++i;
    if (in_string || (i > 0 && !std::strchr(" \t\r\n[:,-", text[i - 1]))) continue;
    const std::string_view rest = std::string_view(text).substr(i);
    const bool is_nan = rest.starts_with("NaN");
    if (!is_nan && !rest.starts_with("Infinity")) continue;
    const double sign = i > 0 && text[i - 1] == '-' ? -1 : 1;
    out.push_back({i + 1, is_nan ? NAN : sign * INFINITY});
    const std::size_t length = is_nan ? 3 : 8;
    text.replace(i, length, length, ' ')[i] = '0';
  }
  return out;
}

/// Builds the tree from the parser's events.
class Events : public nlohmann::json_sax<nlohmann::json> {
 public:
  Events(std::string_view text, std::span<const NotFinite> not_finite)
      : text_(text), read_(text.data()), not_finite_(not_finite) {}

  void parse() {
    const char* const end = text_.data() + text_.size();
    nlohmann::json::sax_parse(Reading(text_.data(), &read_), Reading(end, &read_), this);
  }
  Document take() { return std::move(root_); }

  bool null() override { return add({}); }
  bool boolean(bool v) override { return add({v}); }
  bool number_integer(number_integer_t v) override { return add_number({v}); }
  bool number_unsigned(number_unsigned_t v) override {
    if (v > static_cast<number_unsigned_t>(INT64_MAX)) return add({static_cast<double>(v)});
    return add_number({static_cast<std::int64_t>(v)});
  }
  bool number_float(number_float_t v, const string_t&) override { return add({v}); }
  bool string(string_t& v) override { return add({std::move(v)}); }
  bool binary(binary_t&) override { return false; }

  bool start_object(std::size_t) override { return open({Document::Map()}); }
  bool key(string_t& k) override {
    if (!keys_.back().insert(k).second)
      fail("{}the key '{}' stands twice in one object", place_of(text_, begin_of_key()), k);
    std::get<Document::Map>(open_.back()->value).emplace_back(std::move(k), Document());
    return true;
  }
  bool end_object() override { return close(); }
  bool start_array(std::size_t) override { return open({Document::List()}); }
  bool end_array() override { return close(); }

  /// Shortens the parser's message "[json...] parse error at line 1, column 2: ...".
  bool parse_error(std::size_t, const std::string&, const nlohmann::json::exception& e) override {
    std::string_view text = e.what();
    if (const auto at = text.find("line "); at != std::string_view::npos) text.remove_prefix(at);
    fail("{}", text);
  }

 private:
  std::size_t characters_read() const { return static_cast<std::size_t>(read_ - text_.data()); }
  /// The offset of the opening quote of the key that was just read; quotes inside it are escaped.
  std::size_t begin_of_key() const {
    std::size_t at = characters_read() - 1;
    do { at = text_.rfind('"', at - 1); } while (at > 0 && text_[at - 1] == '\\');
    return at;
  }

  /// The slot for the next value.
  Document* place() {
    if (open_.empty()) return &root_;
    if (auto* list = std::get_if<Document::List>(&open_.back()->value))
      return &list->emplace_back();
    return &std::get<Document::Map>(open_.back()->value).back().second;
  }
  bool add(Document d) {
    *place() = std::move(d);
    return true;
  }
  /// Adds a number, or the non-finite value that it replaces. The parser has read the number and at
  /// most one character more.
  bool add_number(Document d) {
    if (not_finite_.empty() || characters_read() < not_finite_.front().end)
      return add(std::move(d));
    const double value = not_finite_.front().value;
    not_finite_ = not_finite_.subspan(1);
    return add({value});
  }
  bool open(Document d) {
    if (open_.size() >= most_depth)
      fail("{}lists and objects stand more than {} deep in each other",
           place_of(text_, characters_read() - 1), most_depth);
    Document* at = place();
    *at = std::move(d);
    open_.push_back(at);
    keys_.emplace_back();
    return true;
  }
  bool close() {
    open_.pop_back();
    keys_.pop_back();
    return true;
  }

  std::string_view text_;
  const char* read_;                       ///< the end of what the parser has read
  std::span<const NotFinite> not_finite_;  ///< those that are still to come
  Document root_;
  std::vector<Document*> open_;  ///< the open containers; stable, as only the last one grows
  std::vector<std::unordered_set<std::string>> keys_;
};

}  // namespace

Document parse_json(std::string_view text) {
  std::string finite(text);
  const std::vector<NotFinite> not_finite = take_not_finite(finite);
  Events events(finite, not_finite);
  events.parse();
  return events.take();
}

}  // namespace rondel::mdf
