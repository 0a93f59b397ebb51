#pragma once
#include <rondel/export.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace rondel {

/// The element types of ONNX up to IR version 13.
/// 4- and 2-bit values take one byte each in memory; they are packed only in files.
enum class DType : std::uint8_t {
  f64,
  f32,
  f16,
  bf16,
  f8e4m3fn,
  f8e4m3fnuz,
  f8e5m2,
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i64,
  i32,
  i16,
  i8,
  i4,
  i2,
  u64,
  u32,
  u16,
  u8,
  u4,
  u2,
  boolean,
  c64,
  c128,
  string,
};
inline constexpr int dtype_count = static_cast<int>(DType::string) + 1;

/// Text name: "f32", "i64", "bool", "c64", "str", ...
RONDEL_API std::string_view name(DType);
RONDEL_API std::optional<DType> parse_dtype(std::string_view);

/// Bytes an element takes in memory (for `string`: the size of the std::string object).
RONDEL_API std::size_t byte_size(DType);
/// Bits an element takes in a file (2, 4, 8, ...). Not defined for `string`.
RONDEL_API int file_bits(DType);

/// Any floating-point format, 64 bits down to 4.
RONDEL_API bool is_float(DType);
/// The float formats narrower than 16 bits, which can only be stored and converted.
RONDEL_API bool is_small_float(DType);
RONDEL_API bool is_signed_integer(DType);
RONDEL_API bool is_unsigned_integer(DType);
RONDEL_API bool is_complex(DType);
inline bool is_integer(DType t) { return is_signed_integer(t) || is_unsigned_integer(t); }
inline bool is_number(DType t) { return is_integer(t) || is_float(t) || is_complex(t); }

}  // namespace rondel
