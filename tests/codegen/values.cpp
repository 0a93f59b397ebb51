#include "base/float_formats.h"
#include "codegen/agree.h"

#include <limits>

namespace rondel::codegen {
namespace {

/// Calls `f` with a null pointer to the C++ type of an element; for narrow floats, an integer type.
template <class F> void with_type(DType t, F f) {
  switch (t) {
    case DType::f64: return f(static_cast<double*>(nullptr));
    case DType::f32: return f(static_cast<float*>(nullptr));
    case DType::i64: return f(static_cast<std::int64_t*>(nullptr));
    case DType::i32: return f(static_cast<std::int32_t*>(nullptr));
    case DType::i16: return f(static_cast<std::int16_t*>(nullptr));
    case DType::i8: return f(static_cast<std::int8_t*>(nullptr));
    case DType::u64: return f(static_cast<std::uint64_t*>(nullptr));
    case DType::u32: return f(static_cast<std::uint32_t*>(nullptr));
    case DType::u16:
    case DType::f16:
    case DType::bf16: return f(static_cast<std::uint16_t*>(nullptr));
    default: return f(static_cast<std::uint8_t*>(nullptr));
  }
}

template <class T> std::vector<T> corners() {
  using Limits = std::numeric_limits<T>;
  std::vector<T> v{
      T(0), T(1), T(2), T(3), T(7), T(31), T(32), T(63), T(64), Limits::max(), Limits::lowest()};
  if constexpr (std::is_signed_v<T>) v.insert(v.end(), {T(-1), T(-2), T(-64)});
  if constexpr (std::is_floating_point_v<T>) {
    for (const double x :
         {0.5, 1.5, 2.5, 0.49999997, 127.5, 128.0, 255.5, 256.0, 32768.0, 65520.0, 2147483648.0,
          4294967296.0, 9223372036854775808.0, 18446744073709551616.0, 1e-40, 6e-8})
      v.insert(v.end(), {static_cast<T>(x), static_cast<T>(-x)});
    v.insert(v.end(),
             {T(-0.0), Limits::infinity(), -Limits::infinity(), Limits::quiet_NaN(),
              Limits::denorm_min(), -Limits::denorm_min(), Limits::min(), Limits::epsilon()});
  }
  return v;
}

std::uint64_t mask_of(DType t) {
  switch (t) {
    case DType::i4:
    case DType::u4:
    case DType::f4e2m1: return 0xf;
    case DType::i2:
    case DType::u2: return 0x3;
    case DType::boolean: return 0x1;
    default: return ~std::uint64_t{0};
  }
}

}  // namespace

Tensor edge_values(DType t, std::int64_t n, std::uint32_t seed) {
  Tensor out(t, {n});
  std::mt19937_64 random(seed);
  char* at = out.data_as<char>();
  for (std::size_t i = 0; i < static_cast<std::size_t>(n) * byte_size(t); ++i)
    at[i] = static_cast<char>(random() & mask_of(t));
  if (t == DType::i4 || t == DType::i2)  // stored sign-extended
    for (std::int64_t i = 0; i < n; ++i) {
      const int shift = t == DType::i4 ? 4 : 6;
      at[i] = static_cast<char>(static_cast<signed char>(at[i] << shift) >> shift);
    }
  if (is_complex(t) || mask_of(t) != ~std::uint64_t{0}) return out;
  with_type(t, [&]<class T>(T*) {
    if (is_float(t) && sizeof(T) < 4) return;
    const std::vector<T> special = corners<T>();
    for (std::int64_t i = 0; i < n; ++i)
      if (random() % 4 != 0) out.data_as<T>()[i] = special[random() % special.size()];
  });
  return out;
}

Tensor plain_values(DType t, Shape shape, std::uint32_t seed) {
  Tensor out(t, std::move(shape));
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> spread(-1, 1);
  const auto n = out.size();
  with_type(t, [&]<class T>(T*) {
    for (std::int64_t i = 0; i < n; ++i) {
      const float x = spread(random);
      if (t == DType::f16) out.data_as<std::uint16_t>()[i] = f32_to_f16(x);
      else if (t == DType::bf16) out.data_as<std::uint16_t>()[i] = f32_to_bf16(x);
      else if (is_float(t)) out.data_as<T>()[i] = static_cast<T>(x);
      else out.data_as<T>()[i] = static_cast<T>(random());
    }
  });
  return out;
}

}  // namespace rondel::codegen
