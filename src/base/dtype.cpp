#include <rondel/dtype.h>

#include "base/error.h"

#include <array>
#include <string>

namespace rondel {
namespace {

enum class Kind { floating, small_float, signed_integer, unsigned_integer, boolean, complex, text };

struct Facts {
  std::string_view name;
  Kind kind;
  std::size_t bytes;
  int bits;
};

/// Indexed by DType.
constexpr std::array<Facts, dtype_count> table{{
    {"f64", Kind::floating, 8, 64},         {"f32", Kind::floating, 4, 32},
    {"f16", Kind::floating, 2, 16},         {"bf16", Kind::floating, 2, 16},
    {"f8e4m3fn", Kind::small_float, 1, 8},  {"f8e4m3fnuz", Kind::small_float, 1, 8},
    {"f8e5m2", Kind::small_float, 1, 8},    {"f8e5m2fnuz", Kind::small_float, 1, 8},
    {"f8e8m0", Kind::small_float, 1, 8},    {"f4e2m1", Kind::small_float, 1, 4},
    {"i64", Kind::signed_integer, 8, 64},   {"i32", Kind::signed_integer, 4, 32},
    {"i16", Kind::signed_integer, 2, 16},   {"i8", Kind::signed_integer, 1, 8},
    {"i4", Kind::signed_integer, 1, 4},     {"i2", Kind::signed_integer, 1, 2},
    {"u64", Kind::unsigned_integer, 8, 64}, {"u32", Kind::unsigned_integer, 4, 32},
    {"u16", Kind::unsigned_integer, 2, 16}, {"u8", Kind::unsigned_integer, 1, 8},
    {"u4", Kind::unsigned_integer, 1, 4},   {"u2", Kind::unsigned_integer, 1, 2},
    {"bool", Kind::boolean, 1, 8},          {"c64", Kind::complex, 8, 64},
    {"c128", Kind::complex, 16, 128},       {"str", Kind::text, sizeof(std::string), 0},
}};

const Facts& facts(DType t) {
  const auto i = static_cast<std::size_t>(t);
  invariant(i < table.size(), "{} is no dtype", i);
  return table[i];
}

}  // namespace

std::string_view name(DType t) { return facts(t).name; }

std::optional<DType> parse_dtype(std::string_view text) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].name == text) return static_cast<DType>(i);
  return std::nullopt;
}

std::size_t byte_size(DType t) { return facts(t).bytes; }

int file_bits(DType t) {
  invariant(t != DType::string, "a string has no size in bits");
  return facts(t).bits;
}

bool is_float(DType t) {
  return facts(t).kind == Kind::floating || facts(t).kind == Kind::small_float;
}
bool is_small_float(DType t) { return facts(t).kind == Kind::small_float; }
bool is_signed_integer(DType t) { return facts(t).kind == Kind::signed_integer; }
bool is_unsigned_integer(DType t) { return facts(t).kind == Kind::unsigned_integer; }
bool is_complex(DType t) { return facts(t).kind == Kind::complex; }

}  // namespace rondel
