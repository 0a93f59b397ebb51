#include "ir/value_text.h"

#include "base/error.h"
#include "base/float_formats.h"
#include "base/text.h"
#include "ir/text.h"

#include <algorithm>
#include <bit>

namespace rondel::ir {
namespace {

bool is_alphanumeric(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

/// The shortest text that parses to the same double; for a NaN other than the default NaN, its
/// bits.
std::string number(double v) {
  const auto bits = std::bit_cast<std::uint64_t>(v);
  if (v != v) return bits == 0x7ff8000000000000u ? "nan" : fmt::format("0x{:016x}", bits);
  const std::string s = fmt::format("{}", v);
  return s.find_first_of(".en") == std::string::npos ? s + ".0" : s;
}

std::string element_bits(const Tensor& t, std::int64_t i) {
  const std::size_t size = byte_size(t.dtype());
  const auto* bytes = t.data_as<unsigned char>() + static_cast<std::size_t>(i) * size;
  std::string bits = "0x";
  for (std::size_t b = size; b-- > 0;) bits += fmt::format("{:02x}", bytes[b]);
  return bits;
}

/// Decimal if that parses to the same bits, else 0x and the bits.
std::string narrow_float(const Tensor& t, std::int64_t i) {
  const std::uint16_t code = byte_size(t.dtype()) == 2 ? t.data_as<std::uint16_t>()[i]
                                                       : t.data_as<std::uint8_t>()[i];
  const float v = narrow_to_f32(t.dtype(), code);
  const bool same = v == v && f32_to_narrow(t.dtype(), v, false) == code;
  return same ? fmt::format("{}", v) : element_bits(t, i);
}

/// Decimal if that parses to the same bits, else 0x and the bits.
std::string element(const Tensor& t, std::int64_t i) {
  const auto get = [&]<class T>(T) { return t.data_as<T>()[i]; };
  switch (t.dtype()) {
    case DType::string: return quoted(t.data_as<std::string>()[i]);
    case DType::boolean: {
      const auto v = get(std::uint8_t{});
      return v == 0 ? "false" : v == 1 ? "true" : element_bits(t, i);
    }
    case DType::i64: return std::to_string(get(std::int64_t{}));
    case DType::i32: return std::to_string(get(std::int32_t{}));
    case DType::i16: return std::to_string(get(std::int16_t{}));
    case DType::i8:
    case DType::i4:
    case DType::i2: return std::to_string(get(std::int8_t{}));
    case DType::u64: return std::to_string(get(std::uint64_t{}));
    case DType::u32: return std::to_string(get(std::uint32_t{}));
    case DType::u16: return std::to_string(get(std::uint16_t{}));
    case DType::u8:
    case DType::u4:
    case DType::u2: return std::to_string(get(std::uint8_t{}));
    case DType::f32: {
      const float v = get(float{});
      return v == v ? fmt::format("{}", v) : element_bits(t, i);
    }
    case DType::f64: {
      const double v = get(double{});
      return v == v ? fmt::format("{}", v) : element_bits(t, i);
    }
    case DType::c64:
    case DType::c128: return element_bits(t, i);
    default: return narrow_float(t, i);
  }
}

/// In brackets. An empty list has its kind in front, because no item shows the kind.
template <class T> std::string list(std::string_view kind, const std::vector<T>& items, auto text) {
  return (items.empty() ? std::string(kind) : "") + "[" + rondel::join(items, ", ", text) + "]";
}

}  // namespace

std::string quoted(std::string_view s) {
  std::string out = "\"";
  for (const char c : s) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') (out += '\\') += c;
    else if (c == '\n') out += "\\n";
    else if (byte < 0x20 || byte == 0x7f) out += fmt::format("\\x{:02x}", byte);
    else out += c;
  }
  return out + "\"";
}

bool is_word(std::string_view s, std::string_view more) {
  return !s.empty() && is_alphanumeric(s.front()) && std::ranges::all_of(s, [&](char c) {
    return is_alphanumeric(c) || more.find(c) != std::string_view::npos;
  });
}

std::string word_or_quoted(std::string_view s) { return is_word(s) ? std::string(s) : quoted(s); }

std::string tensor_text(const Tensor& view, std::int64_t most) {
  if (!view.defined()) return "undefined";
  const Tensor t = view.packed();
  std::string out = to_text(Type::tensor(t.dtype(), t.shape())) + " {";
  if (most >= 0 && t.size() > most) return out + "...}";
  for (std::int64_t i = 0; i < t.size(); ++i) out += (i > 0 ? ", " : "") + element(t, i);
  return out + "}";
}

std::string attribute_text(const Attribute& a, std::int64_t most) {
  struct Visitor {
    std::int64_t most;
    std::string operator()(std::int64_t v) const { return std::to_string(v); }
    std::string operator()(double v) const { return number(v); }
    std::string operator()(const std::string& v) const { return quoted(v); }
    std::string operator()(const Ints& v) const {
      return list("ints", v, [](std::int64_t x) { return std::to_string(x); });
    }
    std::string operator()(const Floats& v) const { return list("floats", v, number); }
    std::string operator()(const Strings& v) const { return list("strings", v, quoted); }
    std::string operator()(const Tensor& v) const { return tensor_text(v, most); }
    std::string operator()(const Type& v) const { return "type " + to_text(v); }
    std::string operator()(const TypeList& v) const {
      return list("types", v, [](const Type& t) { return to_text(t); });
    }
  };
  return std::visit(Visitor{most}, a);
}

std::string to_text(const Attribute& a) { return attribute_text(a, 16); }

bool text_identifies(const Attributes& attributes) {
  return std::ranges::none_of(
      attributes, [](const auto& a) { return std::holds_alternative<Tensor>(a.second); });
}

}  // namespace rondel::ir
