#pragma once
#include "base/error.h"
#include "base/float_formats.h"

#include <rondel/dtype.h>

namespace rondel::kernels {

/// f16 and bf16 as C++ types that convert to f32, and from f32 with rounding.
struct Float16 {
  std::uint16_t code;
  Float16() = default;
  explicit Float16(float x) : code(f32_to_f16(x)) {}
  operator float() const { return f16_to_f32(code); }
};
struct BFloat16 {
  std::uint16_t code;
  BFloat16() = default;
  explicit BFloat16(float x) : code(f32_to_bf16(x)) {}
  operator float() const { return bf16_to_f32(code); }
};

/// Calls f with a value of the C++ type of float dtype `t`.
template <class F> void with_float_type(DType t, F f) {
  switch (t) {
    case DType::f64: return f(double{});
    case DType::f32: return f(float{});
    case DType::f16: return f(Float16{});
    case DType::bf16: return f(BFloat16{});
    default: invariant(false, "{} is not a float that kernels take", name(t));
  }
}

/// Calls f with a value of the C++ type of a float or integer dtype of at least 8 bits.
template <class F> void with_number_type(DType t, F f) {
  switch (t) {
    case DType::i64: return f(std::int64_t{});
    case DType::i32: return f(std::int32_t{});
    case DType::i16: return f(std::int16_t{});
    case DType::i8: return f(std::int8_t{});
    case DType::u64: return f(std::uint64_t{});
    case DType::u32: return f(std::uint32_t{});
    case DType::u16: return f(std::uint16_t{});
    case DType::u8: return f(std::uint8_t{});
    default: with_float_type(t, f);
  }
}

}  // namespace rondel::kernels
