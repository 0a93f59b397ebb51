#include "ops/scalars.h"

#include "base/error.h"
#include "base/float_formats.h"

namespace rondel::ops {

Indices unravel(Ex i, std::span<const Ex> extents) {
  Indices index(extents.size());
  for (std::size_t a = extents.size(); a-- > 0;) {
    index[a] = a == 0 ? i : i % extents[a];
    if (a > 0) i = i / extents[a];
  }
  return index;
}

std::int64_t integer_value(const Tensor& t) {
  if (t.size() == 0) fail("a number is expected, not {}", to_text(t.dtype(), t.shape()));
  switch (t.dtype()) {
    case DType::i64: return *t.data_as<std::int64_t>();
    case DType::i32: return *t.data_as<std::int32_t>();
    case DType::i16: return *t.data_as<std::int16_t>();
    case DType::i8: return *t.data_as<std::int8_t>();
    case DType::u64: return static_cast<std::int64_t>(*t.data_as<std::uint64_t>());
    case DType::u32: return *t.data_as<std::uint32_t>();
    case DType::u16: return *t.data_as<std::uint16_t>();
    case DType::u8: return *t.data_as<std::uint8_t>();
    default: return static_cast<std::int64_t>(float_value(t));
  }
}

double float_value(const Tensor& t) {
  if (t.size() == 0) fail("a number is expected, not {}", to_text(t.dtype(), t.shape()));
  switch (t.dtype()) {
    case DType::f64: return *t.data_as<double>();
    case DType::f32: return *t.data_as<float>();
    case DType::f16: return f16_to_f32(*t.data_as<std::uint16_t>());
    case DType::bf16: return bf16_to_f32(*t.data_as<std::uint16_t>());
    default: break;
  }
  require(is_integer(t.dtype()), "a number is expected, not {}", name(t.dtype()));
  return static_cast<double>(integer_value(t));
}

}  // namespace rondel::ops
