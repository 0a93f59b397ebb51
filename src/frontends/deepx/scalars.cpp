#include "frontends/deepx/scalars.h"

#include "base/float_formats.h"
#include "frontends/deepx/dtypes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <variant>

namespace rondel::deepx {
namespace {

/// A parsed number, before it is converted to a dtype.
using Number = std::variant<std::int64_t, double>;

/// Whether a number that is out of range of float64 underflows rather than overflows: its first
/// nonzero digit is after the decimal point once the exponent is applied.
bool underflows(std::string_view text) {
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  std::string_view power = text.substr(std::min(e + 1, text.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  std::int64_t exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec ==
      std::errc::result_out_of_range)
    return power.starts_with('-');
  const auto point = static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()));
  const auto first = static_cast<std::int64_t>(digits.find_first_of("123456789"));
  return exponent < first - point;
}

/// The real number nearest to the text; its end is `end`.
template <class T> std::optional<T> real_number(std::string_view text) {
  T real = 0;
  const char* const end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, real);
  if (r.ptr != end || r.ec == std::errc::invalid_argument) return std::nullopt;
  if (r.ec != std::errc::result_out_of_range) return real;
  real = underflows(text) ? T{0} : std::numeric_limits<T>::infinity();
  return text.starts_with('-') ? -real : real;
}

/// The number in the text, real numbers as the nearest that `dtype` has if that is float32: by way
/// of float64 they would be rounded twice.
std::optional<Number> number_of(std::string_view text, DType dtype) {
  if (text == "true" || text == "false") return std::int64_t{text == "true"};
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto r = std::from_chars(text.data(), end, integer);
      r.ec == std::errc() && r.ptr == end)
    return integer;
  if (dtype == DType::f32) return real_number<float>(text);
  return real_number<double>(text);
}

double as_double(const Number& n) {
  return std::visit([](auto v) { return static_cast<double>(v); }, n);
}

/// The number as an integer, if it is one that fits in int64.
std::optional<std::int64_t> as_integer(const Number& n) {
  if (const auto* i = std::get_if<std::int64_t>(&n)) return *i;
  const double d = std::get<double>(n);
  if (!(d >= -0x1p63 && d < 0x1p63) || std::trunc(d) != d) return std::nullopt;
  return static_cast<std::int64_t>(d);
}

/// A double that rounds to a narrow float as the number does: an integer beyond 2^53 loses its last
/// bits, and one bit tells that there were some.
double as_double_to_narrow(const Number& n) {
  const auto* i = std::get_if<std::int64_t>(&n);
  constexpr std::int64_t last_bits = 0x7ff;
  if (i == nullptr || std::abs(as_double(n)) < 0x1p53 || (*i & last_bits) == 0) return as_double(n);
  return static_cast<double>((*i & ~last_bits) | (last_bits + 1));
}

/// Rounds once: an integer beyond 2^53 would be rounded twice by way of double.
float as_float(const Number& n) {
  return std::visit([](auto v) { return static_cast<float>(v); }, n);
}

template <class T> bool store_integer(const Number& n, void* to) {
  const std::optional<std::int64_t> i = as_integer(n);
  if (!i || *i < std::numeric_limits<T>::min() || *i > std::numeric_limits<T>::max()) return false;
  *static_cast<T*>(to) = static_cast<T>(*i);
  return true;
}

/// Stores a number as element k of a tensor; false if the dtype cannot represent it.
bool store(const Number& n, const Tensor& t, std::int64_t k) {
  void* const to = static_cast<std::byte*>(t.data()) +
                   k * static_cast<std::int64_t>(byte_size(t.dtype()));
  switch (t.dtype()) {
    case DType::f64: *static_cast<double*>(to) = as_double(n); return true;
    case DType::f32: *static_cast<float*>(to) = as_float(n); return true;
    case DType::f16:
    case DType::bf16:
      *static_cast<std::uint16_t*>(to) = f64_to_narrow(t.dtype(), as_double_to_narrow(n));
      return true;
    case DType::i64: return store_integer<std::int64_t>(n, to);
    case DType::i32: return store_integer<std::int32_t>(n, to);
    case DType::i16: return store_integer<std::int16_t>(n, to);
    case DType::i8: return store_integer<std::int8_t>(n, to);
    default: {
      const std::optional<std::int64_t> i = as_integer(n);
      if (!i || (*i != 0 && *i != 1)) return false;
      *static_cast<bool*>(to) = *i != 0;
      return true;
    }
  }
}

Number load(const Tensor& t, std::int64_t k) {
  switch (t.dtype()) {
    case DType::f64: return t.data_as<double>()[k];
    case DType::f32: return static_cast<double>(t.data_as<float>()[k]);
    case DType::f16:
    case DType::bf16:
      return static_cast<double>(narrow_to_f32(t.dtype(), t.data_as<std::uint16_t>()[k]));
    case DType::i64: return t.data_as<std::int64_t>()[k];
    case DType::i32: return std::int64_t{t.data_as<std::int32_t>()[k]};
    case DType::i16: return std::int64_t{t.data_as<std::int16_t>()[k]};
    case DType::i8: return std::int64_t{t.data_as<std::int8_t>()[k]};
    default: return std::int64_t{t.data_as<bool>()[k]};
  }
}

void store_word(const Word& w, const Tensor& t, std::int64_t k, std::string_view of) {
  const std::optional<Number> n = number_of(w.text, t.dtype());
  if (!n) fail_at_position(w.at, "'{}' is no number", w.text);
  if (!store(*n, t, k))
    fail_at_position(w.at, "{}{}{} does not hold {}", of, of.empty() ? "" : ": ",
                     dtype_text(t.dtype()), w.text);
}

}  // namespace

bool is_number(std::string_view text) { return number_of(text, DType::f64).has_value(); }

Tensor parse_scalar(const Word& w, DType dtype, std::string_view of) {
  Tensor t(dtype, {});
  store_word(w, t, 0, of);
  return t;
}

Tensor parse_vector(const std::vector<Word>& words, DType dtype, std::string_view of) {
  Tensor t(dtype, {static_cast<std::int64_t>(words.size())});
  for (std::size_t k = 0; k < words.size(); ++k)
    store_word(words[k], t, static_cast<std::int64_t>(k), of);
  return t;
}

Tensor parse_operand(const Operand& o, DType dtype, std::string_view of) {
  const bool is_typed = o.dtypes.size() == 1 && o.dtypes[0].text != "any";
  const DType own = is_typed ? dtype_of(o.dtypes[0]) : dtype;
  if (o.items) return converted(parse_vector(*o.items, own, of), dtype, o.at, of);
  const Tensor n = parse_scalar({o.text, o.at}, own, of);
  return converted(n, dtype, o.at, o.text);
}

Tensor converted(const Tensor& from, DType dtype, const Position& at, std::string_view name) {
  if (from.dtype() == dtype) return from;
  Tensor t(dtype, from.shape());
  for (std::int64_t k = 0; k < from.size(); ++k)
    if (!store(load(from, k), t, k))
      fail_at_position(at, "'{}' is {}, which {} does not hold", name, element_text(from, k, ""),
                       dtype_text(dtype));
  return t;
}

std::int64_t integer_of(const Tensor& t) { return std::get<std::int64_t>(load(t, 0)); }

double real_of(const Tensor& t) { return as_double(load(t, 0)); }

std::string element_text(const Tensor& t, std::int64_t k, std::string_view format) {
  Number n = load(t, k);
  if (auto* d = std::get_if<double>(&n); d != nullptr && std::isnan(*d))
    *d = std::abs(*d);  // the sign of NaN is meaningless and depends on the machine
  if (t.dtype() == DType::boolean) return std::get<std::int64_t>(n) != 0 ? "true" : "false";
  if (!format.empty())
    return std::visit([&](auto v) { return fmt::format(fmt::runtime(format), v); }, n);
  if (const auto* i = std::get_if<std::int64_t>(&n)) return std::to_string(*i);
  const double d = std::get<double>(n);
  const bool wide = t.dtype() == DType::f64;
  return wide ? fmt::format("{}", d) : fmt::format("{}", static_cast<float>(d));
}

}  // namespace rondel::deepx
