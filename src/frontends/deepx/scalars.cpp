#include "frontends/deepx/scalars.h"

#include "base/float_formats.h"
#include "frontends/deepx/dtypes.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <iterator>
#include <limits>
#include <string>
#include <variant>

namespace rondel::deepx {
namespace {

/// A parsed number, before it is converted to a dtype.
using Number = std::variant<std::int64_t, double>;

/// A decimal number without its sign, exactly: 0.DIGITS times 10 to the power `point`. There are no
/// zeros around the digits; 0 has none.
struct Decimal {
  std::string digits;
  std::int64_t point = 0;
};

/// The decimal that a finite number is written as: digits, a point, an exponent.
Decimal decimal_of(std::string_view text) {
  if (text.starts_with('-')) text.remove_prefix(1);
  const std::size_t e = std::min(text.find_first_of("eE"), text.size());
  const std::string_view digits = text.substr(0, e);
  std::string_view power = text.substr(std::min(e + 1, text.size()));
  if (power.starts_with('+')) power.remove_prefix(1);
  constexpr std::int64_t far = 1'000'000'000;  // beyond what any dtype holds, and any text is long
  std::int64_t exponent = 0;
  if (std::from_chars(power.data(), power.data() + power.size(), exponent).ec ==
      std::errc::result_out_of_range)
    exponent = power.starts_with('-') ? -far : far;
  Decimal d{.point = std::clamp(exponent, -far, far) +
                     static_cast<std::int64_t>(std::min(digits.find('.'), digits.size()))};
  std::ranges::copy_if(digits, std::back_inserter(d.digits), [](char c) { return c != '.'; });
  const std::size_t first = std::min(d.digits.find_first_not_of('0'), d.digits.size());
  d.digits.erase(0, first);
  d.point -= static_cast<std::int64_t>(first);
  d.digits.erase(d.digits.find_last_not_of('0') + 1);
  return d;
}

/// Less than 0, 0 or more than 0, as the first decimal is less, equal or greater.
int compared(const Decimal& a, const Decimal& b) {
  if (a.digits.empty() || b.digits.empty())
    return static_cast<int>(b.digits.empty()) - static_cast<int>(a.digits.empty());
  return a.point != b.point ? (a.point < b.point ? -1 : 1) : a.digits.compare(b.digits);
}

/// The integer that a decimal is; none if it has a fraction or is beyond int64.
std::optional<std::int64_t> exact_integer(Decimal d, bool is_negative) {
  constexpr std::int64_t most_digits = 19;
  if (d.digits.empty()) return 0;
  if (d.point < std::ssize(d.digits) || d.point > most_digits) return std::nullopt;
  d.digits.resize(static_cast<std::size_t>(d.point), '0');
  if (is_negative) d.digits.insert(0, 1, '-');
  std::int64_t integer = 0;
  const auto r = std::from_chars(d.digits.data(), d.digits.data() + d.digits.size(), integer);
  return r.ec == std::errc() ? std::optional(integer) : std::nullopt;
}

/// The real number nearest to the text; its end is `end`.
template <class T> std::optional<T> real_number(std::string_view text) {
  T real = 0;
  const char* const end = text.data() + text.size();
  const auto r = std::from_chars(text.data(), end, real);
  if (r.ptr != end || r.ec == std::errc::invalid_argument) return std::nullopt;
  if (r.ec != std::errc::result_out_of_range) return real;
  real = decimal_of(text).point <= 0 ? T{0} : std::numeric_limits<T>::infinity();
  return text.starts_with('-') ? -real : real;
}

/// A double that rounds to a narrow float as the number in the text does: the nearest double may
/// lie between two narrow floats where the number does not, so it is moved by a bit towards the
/// number.
double real_to_narrow(double nearest, std::string_view text, DType narrow) {
  if (!std::isfinite(nearest)) return nearest;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  const double size = std::abs(nearest);
  const auto narrowed = [&](double towards) {
    return f64_to_narrow(narrow, std::nextafter(size, towards));
  };
  if (narrowed(0) == narrowed(infinity)) return nearest;  // it does not lie between two
  const int side = compared(decimal_of(text), decimal_of(fmt::format("{:.766e}", size)));
  if (side == 0) return nearest;
  const double moved = std::nextafter(size, side < 0 ? 0 : infinity);
  return std::copysign(moved, nearest);
}

/// The number in the text as far as it matters for a dtype: real numbers as the nearest float32, or
/// else float64; for integer dtypes exactly, or NaN if they do not hold it.
std::optional<Number> number_of(std::string_view text, DType dtype) {
  if (text == "true" || text == "false") return std::int64_t{text == "true"};
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('+') || text.starts_with('-')) return std::nullopt;
  }
  const char* const end = text.data() + text.size();
  std::int64_t integer = 0;
  if (const auto r = std::from_chars(text.data(), end, integer);
      r.ec == std::errc() && r.ptr == end) {
    if (integer == 0 && text.starts_with('-') && is_float(dtype)) return -0.0;
    return integer;
  }
  if (dtype == DType::f32) return real_number<float>(text);
  const std::optional<double> real = real_number<double>(text);
  if (!real || dtype == DType::f64) return real;
  if (is_float(dtype)) return real_to_narrow(*real, text, dtype);
  if (!std::isfinite(*real)) return real;
  const std::optional<std::int64_t> exact = exact_integer(decimal_of(text), text.starts_with('-'));
  return exact ? Number{*exact} : Number{std::numeric_limits<double>::quiet_NaN()};
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
