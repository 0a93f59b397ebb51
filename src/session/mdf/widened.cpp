#include "session/mdf/widened.h"

#include <algorithm>
#include <type_traits>

namespace rondel::mdf {
namespace {

template <class From> std::optional<Tensor> converted(const Tensor& t, DType to) {
  const auto* values = t.data_as<From>();
  if (to == DType::f64) {
    Tensor out(to, t.shape());
    std::transform(values, values + t.size(), out.data_as<double>(),
                   [](From x) { return static_cast<double>(x); });
    return out;
  }
  if (to != DType::i64 || std::is_floating_point_v<From>) return std::nullopt;
  Tensor out(to, t.shape());
  std::transform(values, values + t.size(), out.data_as<std::int64_t>(),
                 [](From x) { return static_cast<std::int64_t>(x); });
  return out;
}

std::optional<Tensor> converted(const Tensor& t, DType to) {
  if (t.dtype() == to) return t;
  switch (t.dtype()) {
    case DType::boolean: return converted<bool>(t, to);
    case DType::i8: return converted<std::int8_t>(t, to);
    case DType::i16: return converted<std::int16_t>(t, to);
    case DType::i32: return converted<std::int32_t>(t, to);
    case DType::i64: return converted<std::int64_t>(t, to);
    case DType::u8: return converted<std::uint8_t>(t, to);
    case DType::u16: return converted<std::uint16_t>(t, to);
    case DType::u32: return converted<std::uint32_t>(t, to);
    case DType::f32: return converted<float>(t, to);
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Tensor> widened(const Tensor& t, DType dtype, const Shape& shape,
                              std::size_t leading) {
  const auto values = converted(t.packed(), dtype);
  const Shape& own = t.shape();
  if (!values || own.size() > shape.size()) return std::nullopt;
  if (own == shape) return values;
  const std::size_t added = shape.size() - own.size();
  Shape strides;
  for (std::size_t k = 0; k < shape.size(); ++k) {
    if (k >= leading && k < leading + added) {
      strides.push_back(0);
      continue;
    }
    const std::size_t from = k < leading ? k : k - added;
    const bool repeats = own[from] == 1 && k >= leading;
    if (!repeats && own[from] != shape[k]) return std::nullopt;
    strides.push_back(repeats ? 0 : values->strides()[from]);
  }
  return values->strided(0, shape, strides).packed();
}

}  // namespace rondel::mdf
