#include "ir/cursor.h"

#include "base/float_formats.h"
#include "ir/value_text.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cstring>

namespace rondel::ir {
namespace {

constexpr int most_nested_types = 64, most_nested_sums = 64;

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

/// `text` as a number; nothing if it is not entirely a number, or out of range.
template <class T, class... Base> std::optional<T> read(std::string_view text, Base... base) {
  T v{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), v, base...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return v;
}

template <class T> bool append(std::vector<unsigned char>& bytes, std::optional<T> v) {
  if (!v) return false;
  const auto raw = std::bit_cast<std::array<unsigned char, sizeof(T)>>(*v);
  bytes.insert(bytes.end(), raw.begin(), raw.end());
  return true;
}

/// Hexadecimal digits, two per byte, the most significant byte first.
bool append_bits(std::vector<unsigned char>& bytes, std::string_view digits, std::size_t size) {
  if (digits.size() != 2 * size) return false;
  for (std::size_t b = size; b-- > 0;)
    if (!append(bytes, read<std::uint8_t>(digits.substr(2 * b, 2), 16))) return false;
  return true;
}

bool append_narrow(std::vector<unsigned char>& bytes, DType dtype, std::optional<float> v) {
  if (!v) return false;
  const std::uint16_t code = f32_to_narrow(dtype, *v, false);
  if (byte_size(dtype) == 2) return append<std::uint16_t>(bytes, code);
  return append<std::uint8_t>(bytes, static_cast<std::uint8_t>(code));
}

bool append_element(std::vector<unsigned char>& bytes, DType dtype, std::string_view text) {
  if (text.starts_with("0x")) return append_bits(bytes, text.substr(2), byte_size(dtype));
  switch (dtype) {
    case DType::boolean:
      return (text == "true" || text == "false") &&
             append<std::uint8_t>(bytes, text == "true" ? 1 : 0);
    case DType::i64: return append(bytes, read<std::int64_t>(text));
    case DType::i32: return append(bytes, read<std::int32_t>(text));
    case DType::i16: return append(bytes, read<std::int16_t>(text));
    case DType::i8:
    case DType::i4:
    case DType::i2: return append(bytes, read<std::int8_t>(text));
    case DType::u64: return append(bytes, read<std::uint64_t>(text));
    case DType::u32: return append(bytes, read<std::uint32_t>(text));
    case DType::u16: return append(bytes, read<std::uint16_t>(text));
    case DType::u8:
    case DType::u4:
    case DType::u2: return append(bytes, read<std::uint8_t>(text));
    case DType::f32: return append(bytes, read<float>(text));
    case DType::f64: return append(bytes, read<double>(text));
    case DType::c64:
    case DType::c128: return false;
    default: return append_narrow(bytes, dtype, read<float>(text));
  }
}

}  // namespace

std::string Cursor::position(std::size_t at) const {
  const std::string_view before = text_.substr(0, at);
  const auto line = std::ranges::count(before, '\n') + 1;
  const std::size_t start = before.rfind('\n');
  const std::size_t column = start == std::string_view::npos ? at + 1 : at - start;
  return fmt::format("line {}, column {}: ", line, column);
}

void Cursor::skip() {
  bool same_line = at_ > 0;
  while (at_ < text_.size()) {
    if (text_.substr(at_).starts_with("//")) comment(same_line);
    else if (!is_blank(text_[at_])) return;
    else if (text_[at_++] == '\n') same_line = false;
  }
}

void Cursor::comment(bool same_line) {
  constexpr std::string_view from = "// from \"";
  if (same_line && text_.substr(at_).starts_with(from)) {
    at_ += from.size() - 1;
    source_ = string();
  }
  at_ = std::min(text_.find('\n', at_), text_.size());
}

std::string Cursor::source() {
  skip();
  return std::exchange(source_, {});
}

std::size_t Cursor::at() {
  skip();
  return at_;
}

char Cursor::peek() {
  skip();
  return at_ < text_.size() ? text_[at_] : '\0';
}

bool Cursor::accept(char c) {
  if (c != peek()) return false;
  ++at_;
  return true;
}

bool Cursor::accept(std::string_view run) {
  skip();
  if (!text_.substr(at_).starts_with(run)) return false;
  const std::size_t end = at_ + run.size();
  if (is_word(run) && end < text_.size() && is_word(text_.substr(end, 1))) return false;
  at_ = end;
  return true;
}

void Cursor::expect(char c) {
  if (!accept(c)) fail_expected(fmt::format("'{}'", c));
}

void Cursor::expect_word(std::string_view w) {
  if (!accept(w)) fail_expected(fmt::format("'{}'", w));
}

void Cursor::fail_expected(std::string_view what) {
  const std::size_t here = at();
  std::size_t end = here;
  while (end < text_.size() && is_word(text_.substr(end, 1))) ++end;
  const std::string_view found = text_.substr(here, std::clamp<std::size_t>(end - here, 1, 32));
  if (here == text_.size()) fail(here, "expected {}, found the end of the text", what);
  fail(here, "expected {}, found '{}'", what, found);
}

bool Cursor::before_assignment() {
  const std::size_t start = at();
  if (peek() == '"') string();
  else
    while (at_ < text_.size() && is_word(text_.substr(at_, 1))) ++at_;
  const bool named = at_ > start;
  const bool is = named && peek() == '=';
  at_ = start;
  return is;
}

std::string Cursor::word(std::string_view what, std::string_view more) {
  const std::size_t start = at();
  std::size_t end = start;
  while (end < text_.size() && is_word(text_.substr(start, 1)) &&
         (is_word(text_.substr(end, 1)) || more.find(text_[end]) != std::string_view::npos))
    ++end;
  if (end == start) fail_expected(what);
  at_ = end;
  return std::string(text_.substr(start, end - start));
}

std::string Cursor::word_or_string(std::string_view what, std::string_view more) {
  return peek() == '"' ? string() : word(what, more);
}

std::string Cursor::string() {
  const std::size_t start = at_;
  if (at_ >= text_.size() || text_[at_] != '"') fail_expected("a string in double quotes");
  std::string out;
  for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
    if (text_[at_] != '\\') {
      out += text_[at_];
      continue;
    }
    const char c = ++at_ < text_.size() ? text_[at_] : '\0';
    const auto code = c == 'x' ? read<std::uint8_t>(text_.substr(at_).substr(1, 2), 16)
                               : std::nullopt;
    if (c == '"' || c == '\\') out += c;
    else if (c == 'n') out += '\n';
    else if (code && at_ + 2 < text_.size()) (out += static_cast<char>(*code)), at_ += 2;
    else fail(at_ - 1, "expected \\\", \\\\, \\n or \\x and two digits in a string");
  }
  if (at_ >= text_.size()) fail(start, "the string that begins here does not end");
  ++at_;
  return out;
}

std::string_view Cursor::token() {
  const std::size_t start = at();
  std::size_t end = start;
  constexpr std::string_view marks = ".+-";
  while (end < text_.size() &&
         (is_word(text_.substr(end, 1)) || marks.find(text_[end]) != std::string_view::npos))
    ++end;
  if (end == start) fail_expected("a value");
  at_ = end;
  return text_.substr(start, end - start);
}

std::int64_t Cursor::integer() {
  const std::size_t start = at();
  const auto v = read<std::int64_t>(token());
  if (!v) fail(start, "expected an integer of 64 bits");
  return *v;
}

std::variant<std::int64_t, double> Cursor::number() {
  const std::size_t start = at();
  const std::string_view t = token();
  if (t.starts_with("0x")) {
    if (const auto bits = read<std::uint64_t>(t.substr(2), 16)) return std::bit_cast<double>(*bits);
  } else if (t.find_first_of(".en") != std::string_view::npos) {
    if (const auto v = read<double>(t)) return *v;
  } else if (const auto v = read<std::int64_t>(t)) {
    return *v;
  }
  fail(start, "'{}' is no number of 64 bits", t);
}

Extents Cursor::extents() {
  Extents list;
  expect('[');
  while (!accept(']')) {
    if (!list.empty()) expect(',');
    const std::size_t start = at();
    if (accept('?')) {
      list.emplace_back();
      continue;
    }
    const Extent e(sum(0));
    if (!e.known() && !e.symbolic())
      fail(start, "expected an extent: 0 or more and below 2^63, or a short expression");
    list.push_back(e);
  }
  return list;
}

Integer Cursor::sum(int depth) {
  if (depth > most_nested_sums) fail(at(), "an extent nests deeper than {}", most_nested_sums);
  Integer total = accept('-') ? -product(depth) : product(depth);
  for (;;) {
    if (accept('+')) total = total + product(depth);
    else if (accept('-')) total = total - product(depth);
    else return total;
  }
}

Integer Cursor::product(int depth) {
  Integer total = factor(depth);
  for (;;) {
    if (accept('*')) total = total * factor(depth);
    else if (peek() == '/' && !text_.substr(at_).starts_with("//") && accept('/'))
      total = floor_div(total, factor(depth));
    else return total;
  }
}

Integer Cursor::factor(int depth) {
  const char c = peek();
  const std::size_t start = at_;
  if (c >= '0' && c <= '9') {
    while (at_ < text_.size() && is_word(text_.substr(at_, 1))) ++at_;
    const auto v = read<std::int64_t>(text_.substr(start, at_ - start));
    if (!v) fail(start, "expected an extent below 2^63");
    return *v;
  }
  if (accept('(')) {
    const Integer inner = sum(depth + 1);
    expect(')');
    return inner;
  }
  if (accept('$')) return Integer(Symbol::own(word("a name of an extent", symbol_marks)));
  if (c == '"') {
    const std::string name = string();
    if (name.empty()) fail(start, "the name of an extent is empty");
    return Integer(Symbol::named(name));
  }
  const std::string name = word("an extent", symbol_marks);
  if ((name != "max" && name != "min") || !accept('(')) return Integer(Symbol::named(name));
  const Integer a = sum(depth + 1);
  expect(',');
  const Integer b = sum(depth + 1);
  expect(')');
  return name == "max" ? max(a, b) : min(a, b);
}

Type Cursor::type() { return type(0); }

DType Cursor::dtype() {
  const std::size_t start = at();
  const std::string w = word("a dtype");
  const std::optional<DType> found = parse_dtype(w);
  if (!found) fail(start, "expected a dtype, found '{}'", w);
  return *found;
}

/// The rest of a map's type.
Type Cursor::map_type() {
  expect('<');
  const std::size_t start = at();
  const DType key = dtype();
  if (key != DType::i64 && key != DType::string)
    fail(start, "the keys of a map are {}; expected i64 or {}", name(key), name(DType::string));
  expect(',');
  const DType value = dtype();
  expect('>');
  return Type::map(key, value);
}

Type Cursor::type(int depth) {
  const std::size_t start = at();
  if (depth > most_nested_types) fail(start, "a type nests deeper than {}", most_nested_types);
  const std::string w = word("a type");
  if (w == "none") return {};
  if (w == "seq" || w == "optional") {
    expect('<');
    Type element = type(depth + 1);
    expect('>');
    return w == "seq" ? Type::sequence(std::move(element)) : Type::optional(std::move(element));
  }
  if (w == "map") return map_type();
  const std::optional<DType> dtype = parse_dtype(w);
  if (!dtype) fail(start, "expected a type, found '{}'", w);
  const std::size_t open = at();
  if (accept('[') && accept("...")) {
    expect(']');
    return Type::unranked(*dtype);
  }
  at_ = open;
  return Type::tensor(*dtype, extents());
}

void Cursor::element(DType dtype, std::vector<unsigned char>& bytes) {
  const std::size_t start = at();
  const std::string_view t = token();
  if (!append_element(bytes, dtype, t)) fail(start, "'{}' is no element of {}", t, name(dtype));
}

Tensor Cursor::tensor() {
  if (accept("undefined")) return {};
  const std::size_t start = at();
  const Type t = type();
  if (!t.is_tensor() || !t.is_static()) fail(start, "{} is not the type of one tensor", to_text(t));
  std::vector<unsigned char> bytes;
  Strings strings;
  std::int64_t read = 0;
  expect('{');
  if (accept("...")) fail(start, "the elements of this tensor were left out of the text");
  for (; !accept('}'); ++read) {
    if (read > 0) expect(',');
    if (t.dtype() != DType::string) element(t.dtype(), bytes);
    else if (peek(); true) strings.push_back(string());
  }
  std::int64_t wanted = -1;
  try {
    wanted = element_count(t.static_shape());
  } catch (const Error& e) { fail(start, "{}", e.what()); }
  if (read != wanted) fail(start, "{} has {} elements; {} are given", to_text(t), wanted, read);
  Tensor out(t.dtype(), t.static_shape());
  if (t.dtype() == DType::string) std::ranges::move(strings, out.data_as<std::string>());
  else if (!bytes.empty()) std::memcpy(out.data(), bytes.data(), bytes.size());
  return out;
}

Attribute Cursor::list(std::string_view kind) {
  Ints ints;
  Floats floats;
  Strings strings;
  TypeList types;
  expect('[');
  for (bool first = true; !accept(']'); first = false) {
    if (!first) expect(',');
    const std::size_t start = at();
    std::string_view item = "strings";
    if (peek() == '"') {
      strings.push_back(string());
    } else if (!starts_number()) {
      item = "types";
      types.push_back(type());
    } else if (const auto v = number(); const auto* i = std::get_if<std::int64_t>(&v)) {
      item = "ints";
      ints.push_back(*i);
    } else {
      item = "floats";
      floats.push_back(std::get<double>(v));
    }
    if (kind.empty()) kind = item;
    if (kind != item) fail(start, "a list of {} holds an item of {}", kind, item);
  }
  if (kind == "ints") return ints;
  if (kind == "floats") return floats;
  if (kind == "strings") return strings;
  if (kind == "types") return types;
  fail(at_ - 1, "an empty list says what it is of: ints[], floats[], strings[] or types[]");
}

bool Cursor::starts_number() {
  const char c = peek();
  const std::string_view rest = text_.substr(at_);
  return (c >= '0' && c <= '9') || c == '-' || rest.starts_with("inf") || rest.starts_with("nan");
}

Attribute Cursor::attribute() {
  const char c = peek();
  if (c == '"') return string();
  if (c == '[') return list("");
  for (const std::string_view kind : {"ints", "floats", "strings", "types"})
    if (accept(kind)) return list(kind);
  if (accept("type")) return type();
  if (!starts_number()) return tensor();
  const auto v = number();
  if (const auto* i = std::get_if<std::int64_t>(&v)) return *i;
  return std::get<double>(v);
}

}  // namespace rondel::ir
