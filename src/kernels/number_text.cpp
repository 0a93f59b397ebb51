#include "kernels/number_text.h"

#include "base/error.h"
#include "base/text.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>

namespace rondel::kernels {
namespace {

template <class T> std::string float_text(T x) {
  if (std::isnan(x)) return "NaN";
  if (std::isinf(x)) return x > 0 ? "INF" : "-INF";
  std::string text = fmt::format("{}", x);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

std::string text_of(float x) { return float_text(x); }
std::string text_of(double x) { return float_text(x); }
std::string text_of(bool x) { return x ? "True" : "False"; }
template <class T> std::string text_of(T x) { return fmt::format("{}", x); }

template <class T> bool parsed(std::string_view text, T& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  return result.ec == std::errc{} && result.ptr == end;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](char x, char y) { return (x | 0x20) == (y | 0x20); });
}

/// Parses a number that a double cannot represent. A too large number becomes infinite, a too small
/// one zero. from_chars reports both as out of range.
bool out_of_range_number(std::string_view text, double& value) {
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, value);
  if (result.ec != std::errc::result_out_of_range || result.ptr != end) return false;
  value = std::strtod(std::string(text).c_str(), nullptr);
  return true;
}

}  // namespace

template <class T> T text_as(std::string_view text) {
  text = trimmed(text);
  if constexpr (std::is_same_v<T, bool>) {
    if (same_letters(text, "true")) return true;
    if (same_letters(text, "false")) return false;
  } else {
    T value{};  // integers and f32 are parsed directly: through a double they would round twice
    if (parsed(text, value) && !(std::is_floating_point_v<T> && !std::isfinite(double(value))))
      return value;
  }
  return saturated<T>(text_number(text));
}
template float text_as(std::string_view);
template std::int64_t text_as(std::string_view);

namespace {

template <class T> void to_text(UnsizedCall& call) {
  const Tensor in = packed_with_stop_checks(call, 0), out = call.make(0, DType::string, in.shape());
  const auto n = static_cast<std::size_t>(in.size());
  StopCheck stop(call);
  for (std::size_t i = 0; i < n; ++i) {
    out.data_as<std::string>()[i] = text_of(in.data_as<T>()[i]);
    stop.add_work(64);
  }
}

template <class T> void from_text(UnsizedCall& call) {
  const Tensor in = packed_with_stop_checks(call, 0),
               out = call.make(0, dtype_of<T>::value, in.shape());
  const auto n = static_cast<std::size_t>(in.size());
  StopCheck stop(call);
  for (std::size_t i = 0; i < n; ++i) {
    out.data_as<T>()[i] = text_as<T>(in.data_as<std::string>()[i]);
    stop.add_work(64);
  }
}

}  // namespace

bool has_text(DType t) {
  return t == DType::f32 || t == DType::f64 || t == DType::i64 || t == DType::u64 ||
         t == DType::boolean;
}

std::string number_text(float x) { return float_text(x); }
std::string number_text(double x) { return float_text(x); }

double text_number(std::string_view whole) {
  std::string_view text = trimmed(whole);
  if (text.starts_with('+')) text.remove_prefix(1);
  const bool negative = text.starts_with('-');
  const std::string_view magnitude = negative ? text.substr(1) : text;
  if (same_letters(magnitude, "nan")) return std::numeric_limits<double>::quiet_NaN();
  double value = std::numeric_limits<double>::infinity();
  if (!same_letters(magnitude, "inf") && !same_letters(magnitude, "infinity"))
    require(parsed(text, value) || out_of_range_number(text, value), "'{}' is not a number", whole);
  else if (negative) value = -value;
  return value;
}

void numbers_to_text(UnsizedCall& call) {
  switch (call.tensor(0).dtype()) {
    case DType::f32: return to_text<float>(call);
    case DType::f64: return to_text<double>(call);
    case DType::i64: return to_text<std::int64_t>(call);
    case DType::u64: return to_text<std::uint64_t>(call);
    case DType::boolean: return to_text<bool>(call);
    default: invariant(false, "there is no text form of {}", name(call.tensor(0).dtype()));
  }
}

void text_to_numbers(UnsizedCall& call, DType to) {
  switch (to) {
    case DType::f32: return from_text<float>(call);
    case DType::f64: return from_text<double>(call);
    case DType::i64: return from_text<std::int64_t>(call);
    case DType::u64: return from_text<std::uint64_t>(call);
    case DType::boolean: return from_text<bool>(call);
    default: invariant(false, "there is no text form of {}", name(to));
  }
}

}  // namespace rondel::kernels
