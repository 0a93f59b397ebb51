#include "scalar/contract.h"

#include "base/block.h"
#include "base/error.h"
#include "base/float_formats.h"
#include "base/text.h"
#include "scalar/op_facts.h"

#include <algorithm>
#include <cmath>
#include <type_traits>

namespace rondel::scalar {
namespace {

constexpr std::int64_t block = 64;
/// Steps of k, or elements converted, between two checks of the stop flag.
constexpr std::int64_t steps_between_checks = 4096;

using Stop = const std::atomic<std::int32_t>&;
bool stop_requested(Stop stop) { return stop.load(std::memory_order_relaxed) != 0; }

/// One row of a against `width` (at most `block`) columns of b.
template <class T> struct Strip {
  const T* a;
  std::int64_t a_step;
  const T* b;
  std::int64_t b_row, b_column;
  std::int64_t depth, width;
};

template <bool fused, class T> [[gnu::always_inline]] inline T step(T a, T b, T sum) {
  if constexpr (std::is_integral_v<T>) {
    const auto product = static_cast<std::uint64_t>(a) * static_cast<std::uint64_t>(b);
    return static_cast<T>(static_cast<std::uint64_t>(sum) + product);
  } else if constexpr (fused) {
    return std::fma(a, b, sum);
  } else {
    const T product = a * b;
    return sum + product;
  }
}

/// Adds the strip's products to `sums`.
template <bool fused, class T>
[[gnu::always_inline]] inline void run_strip(const Strip<T>& s, T* sums) {
  if (s.width == block && s.b_column == 1) {
    T own[block];  // not aliased, so the inner loop is vectorized
    std::copy(sums, sums + block, own);
    for (std::int64_t k = 0; k < s.depth; ++k) {
      const T a = s.a[k * s.a_step];
      const T* b = s.b + k * s.b_row;
      for (std::int64_t j = 0; j < block; ++j) own[j] = step<fused>(a, b[j], own[j]);
    }
    std::copy(own, own + block, sums);
    return;
  }
  for (std::int64_t k = 0; k < s.depth; ++k) {
    const T a = s.a[k * s.a_step];
    const T* b = s.b + k * s.b_row;
    for (std::int64_t j = 0; j < s.width; ++j) sums[j] = step<fused>(a, b[j * s.b_column], sums[j]);
  }
}

// fma is exact in both clones; the first has the instruction, the other calls the C library. Every
// aarch64 has the instruction. The loader selects a clone before the thread sanitizer is
// initialized.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
#define RONDEL_VERSIONS [[gnu::target_clones("fma", "default")]]
#else
#define RONDEL_VERSIONS
#endif

RONDEL_VERSIONS void strip_f32(const Strip<float>& s, float* sums) { run_strip<true>(s, sums); }
RONDEL_VERSIONS void strip_f64(const Strip<double>& s, double* sums) { run_strip<true>(s, sums); }

/// A part of the steps of a dot product.
template <class T> struct Dot {
  const T* a;
  std::int64_t a_step;
  const T* b;
  std::int64_t b_step;
  std::int64_t depth;
};

/// Adds the steps to the parts of the sum; the first step belongs to part 0.
template <class T> [[gnu::always_inline]] inline void run_dot(const Dot<T>& d, T* parts) {
  constexpr std::int64_t count = bytes_of_parts / sizeof(T);
  for (std::int64_t k = 0; k < d.depth; ++k)
    parts[k % count] = step<true>(d.a[k * d.a_step], d.b[k * d.b_step], parts[k % count]);
}
RONDEL_VERSIONS void dot_f32(const Dot<float>& d, float* parts) { run_dot(d, parts); }
RONDEL_VERSIONS void dot_f64(const Dot<double>& d, double* parts) { run_dot(d, parts); }
#undef RONDEL_VERSIONS

void dot(const Dot<float>& d, float* parts) { dot_f32(d, parts); }
void dot(const Dot<double>& d, double* parts) { dot_f64(d, parts); }

template <class T> void strip(const Strip<T>& s, T* sums, bool fused) {
  if constexpr (std::is_same_v<T, float>) {
    if (fused) return strip_f32(s, sums);
  } else if constexpr (std::is_same_v<T, double>) {
    if (fused) return strip_f64(s, sums);
  }
  run_strip<false>(s, sums);
}

/// One element as `T`: integers wrap, narrow floats widen.
template <class T> T element(const Matrix& m, std::int64_t at) {
  const auto read = [&]<class S>(S*) { return static_cast<const S*>(m.data)[at]; };
  const auto integer = [&]<class S>(S* tag) { return static_cast<T>(read(tag)); };
  switch (m.dtype) {
    case DType::f64: return static_cast<T>(read(static_cast<double*>(nullptr)));
    case DType::f32: return static_cast<T>(read(static_cast<float*>(nullptr)));
    case DType::f16: return static_cast<T>(f16_to_f32(read(static_cast<std::uint16_t*>(nullptr))));
    case DType::bf16:
      return static_cast<T>(bf16_to_f32(read(static_cast<std::uint16_t*>(nullptr))));
    case DType::i64: return integer(static_cast<std::int64_t*>(nullptr));
    case DType::i32: return integer(static_cast<std::int32_t*>(nullptr));
    case DType::i16: return integer(static_cast<std::int16_t*>(nullptr));
    case DType::i8: return integer(static_cast<std::int8_t*>(nullptr));
    case DType::u64: return integer(static_cast<std::uint64_t*>(nullptr));
    case DType::u32: return integer(static_cast<std::uint32_t*>(nullptr));
    case DType::u16: return integer(static_cast<std::uint16_t*>(nullptr));
    case DType::u8: return integer(static_cast<std::uint8_t*>(nullptr));
    default: invariant(false, "contract of {}", name(m.dtype)); return T(0);
  }
}

/// Sums over all of k, in parts; false if a stop was requested.
template <class T> bool sum_up(Strip<T> s, T* sums, bool fused, Stop stop) {
  std::fill(sums, sums + block, T(0));
  for (std::int64_t left = s.depth; left > 0; left -= s.depth) {
    if (stop_requested(stop)) return false;
    s.depth = std::min(left, steps_between_checks);
    strip(s, sums, fused);
    s.a += s.depth * s.a_step;
    s.b += s.depth * s.b_row;
  }
  return true;
}

/// `m` with elements of type `T`: `m` itself, or a converted copy in `storage`, which is incomplete
/// if a stop was requested.
template <class T> Matrix as(const Matrix& m, OwnedBlock& storage, Stop stop) {
  const bool same = std::is_floating_point_v<T>
                        ? is_wide_float(m.dtype)
                        : is_integer(m.dtype) && byte_size(m.dtype) == sizeof(T);
  if (same) return m;
  const std::int64_t bytes = m.rows * m.columns * static_cast<std::int64_t>(sizeof(T));
  storage = take_owned_block(static_cast<std::size_t>(bytes));
  if (!storage) throw_error(Blame::limit, fmt::format("no memory for {} bytes", bytes));
  T* to = static_cast<T*>(storage.get());
  for (std::int64_t i = 0; i < m.rows; ++i)
    for (std::int64_t from = 0; from < m.columns && !stop_requested(stop);
         from += steps_between_checks)
      for (std::int64_t j = from; j < std::min(m.columns, from + steps_between_checks); ++j)
        *to++ = element<T>(m, i * m.row_stride + j * m.column_stride);
  return {storage.get(), m.dtype, m.rows, m.columns, m.columns, 1};
}

template <class T> void put(const Matrix& c, std::int64_t at, T value) {
  if constexpr (std::is_same_v<T, float>) {
    if (c.dtype == DType::f16 || c.dtype == DType::bf16) {
      static_cast<std::uint16_t*>(c.data)[at] = f32_to_narrow(c.dtype, value);
      return;
    }
  }
  static_cast<T*>(c.data)[at] = value;
}

template <class T>
bool multiply(const Matrix& a_any, const Matrix& b_any, const Matrix& c, bool fused, Stop stop) {
  OwnedBlock a_copy, b_copy;
  const Matrix a = as<T>(a_any, a_copy, stop), b = as<T>(b_any, b_copy, stop);
  T sums[block];
  for (std::int64_t i = 0; i < c.rows; ++i) {
    for (std::int64_t j = 0; j < c.columns; j += block) {
      const std::int64_t width = std::min(block, c.columns - j);
      const T* row = static_cast<const T*>(a.data) + i * a.row_stride;
      const T* columns = static_cast<const T*>(b.data) + j * b.column_stride;
      const Strip<T> whole{row,  a.column_stride, columns, b.row_stride, b.column_stride, a.columns,
                           width};
      if (!sum_up(whole, sums, fused, stop)) return false;
      for (std::int64_t k = 0; k < width; ++k)
        put(c, i * c.row_stride + (j + k) * c.column_stride, sums[k]);
    }
  }
  return true;
}

/// Adds the parts of a sum in a fixed tree.
template <class T> T sum_of_parts(T* parts) {
  for (std::size_t half = bytes_of_parts / sizeof(T) / 2; half > 0; half /= 2)
    for (std::size_t i = 0; i < half; ++i) parts[i] += parts[i + half];
  return parts[0];
}

/// The product whose elements are dot products.
template <class T> bool multiply_in_parts(const Product& p, Stop stop) {
  const T *a = static_cast<const T*>(p.a.data), *b = static_cast<const T*>(p.b.data);
  for (std::int64_t i = 0; i < p.c.rows; ++i)
    for (std::int64_t j = 0; j < p.c.columns; ++j) {
      T parts[bytes_of_parts / sizeof(T)] = {};
      Dot<T> d{a + i * p.a.row_stride, p.a.column_stride, b + j * p.b.column_stride, p.b.row_stride,
               0};
      for (std::int64_t left = p.a.columns; left > 0; left -= d.depth) {
        if (stop_requested(stop)) return false;
        d.depth = std::min(left, steps_between_checks);
        dot(d, parts);
        d.a += d.depth * d.a_step;
        d.b += d.depth * d.b_step;
      }
      put(p.c, i * p.c.row_stride + j * p.c.column_stride, sum_of_parts(parts));
    }
  return true;
}

struct Factor {
  std::int32_t buffer, leading;
  bool transposed, vector, row;  ///< `row`: a vector is one row, else one column
};

Matrix matrix(const Program& program, const Factor& side, const View* views,
              const std::int64_t* leading) {
  const auto id = static_cast<std::size_t>(side.buffer);
  const View& view = views[id];
  std::int64_t offset = 0;
  for (std::int32_t k = 0; k < side.leading; ++k) offset += leading[k] * view.strides[k];
  Matrix m{nullptr, program.buffers[id].dtype, 1, 1, 0, 0};
  const auto bytes = static_cast<std::int64_t>(byte_size(m.dtype));
  m.data = static_cast<char*>(view.data) + offset * bytes;
  const std::int64_t* extents = view.extents + side.leading;
  const std::int64_t* strides = view.strides + side.leading;
  const auto columns = [&](std::int32_t axis) {
    m.columns = extents[axis], m.column_stride = strides[axis];
  };
  const auto rows = [&](std::int32_t axis) {
    m.rows = extents[axis], m.row_stride = strides[axis];
  };
  const auto last = static_cast<std::int32_t>(program.buffers[id].rank()) - side.leading - 1;
  if (side.vector) {
    side.row ? columns(0) : rows(0);
  } else {
    rows(side.transposed ? last : 0);
    columns(side.transposed ? 0 : last);
  }
  return m;
}

/// `sizes`: m, n and k.
void set_sizes(Product& p, const Contract& c, const std::int64_t* sizes) {
  const auto set = [](std::int64_t& extent, std::int64_t size) {
    invariant(size >= 0 && size <= extent, "a product takes {} of an extent of {}", size, extent);
    extent = size;
  };
  if (!c.a_vector) {
    set(p.a.rows, sizes[0]);
    set(p.c.rows, sizes[0]);
  }
  if (!c.b_vector) {
    set(p.b.columns, sizes[1]);
    set(p.c.columns, sizes[1]);
  }
  set(p.a.columns, sizes[2]);
  set(p.b.rows, sizes[2]);
}

}  // namespace

DotProducts dot_products(const Program& program, const Contract& c) {
  const auto dtype = [&](std::int32_t id) {
    return program.buffers[static_cast<std::size_t>(id)].dtype;
  };
  if (!c.fused || !is_wide_float(dtype(c.c))) return DotProducts::never;
  if (dtype(c.a) != dtype(c.c) || dtype(c.b) != dtype(c.c)) return DotProducts::never;
  if (c.b_vector) return c.a_transposed ? DotProducts::never : DotProducts::always;
  if (!c.b_transposed) return DotProducts::never;
  return c.a_vector ? DotProducts::always : DotProducts::if_one_row;
}

bool contract(const Product& p, bool fused, Stop stop) {
  const Matrix &a = p.a, &b = p.b, &c = p.c;
  invariant(a.columns == b.rows && c.rows == a.rows && c.columns == b.columns,
            "contract of [{},{}] and [{},{}] into [{},{}]", a.rows, a.columns, b.rows, b.columns,
            c.rows, c.columns);
  if (p.in_parts)
    return c.dtype == DType::f64 ? multiply_in_parts<double>(p, stop)
                                 : multiply_in_parts<float>(p, stop);
  switch (c.dtype) {
    case DType::f64: return multiply<double>(a, b, c, fused, stop);
    case DType::f32:
    case DType::f16:
    case DType::bf16: return multiply<float>(a, b, c, fused, stop);
    case DType::i64:
    case DType::u64: return multiply<std::uint64_t>(a, b, c, false, stop);
    case DType::i32:
    case DType::u32: return multiply<std::uint32_t>(a, b, c, false, stop);
    case DType::i16:
    case DType::u16: return multiply<std::uint16_t>(a, b, c, false, stop);
    case DType::i8:
    case DType::u8: return multiply<std::uint8_t>(a, b, c, false, stop);
    default: invariant(false, "contract into {}", name(c.dtype)); return false;
  }
}

Product operands_of(const Program& program, const Contract& c, const View* views,
                    const std::int64_t* leading) {
  const std::int64_t* for_b = leading + c.a_leading;
  const std::int64_t* for_c = for_b + c.b_leading;
  Product p;
  p.a = matrix(program, {c.a, c.a_leading, c.a_transposed, c.a_vector, true}, views, leading);
  p.b = matrix(program, {c.b, c.b_leading, c.b_transposed, c.b_vector, false}, views, for_b);
  const View& view = views[c.c];
  const Buffer& result = program.buffers[static_cast<std::size_t>(c.c)];
  p.c = {nullptr, result.dtype, 1, 1, 0, 0};
  std::int64_t offset = 0;
  for (std::int32_t k = 0; k < c.c_leading; ++k) offset += for_c[k] * view.strides[k];
  p.c.data = static_cast<char*>(view.data) +
             offset * static_cast<std::int64_t>(byte_size(p.c.dtype));
  if (!c.a_vector) {
    p.c.rows = view.extents[c.c_leading];
    p.c.row_stride = view.strides[c.c_leading];
  }
  if (!c.b_vector) {
    p.c.columns = view.extents[result.rank() - 1];
    p.c.column_stride = view.strides[result.rank() - 1];
  }
  if (c.sized) set_sizes(p, c, leading + c.leading());
  const DotProducts dots = dot_products(program, c);
  p.in_parts = dots == DotProducts::always || (dots == DotProducts::if_one_row && p.c.rows == 1);
  return p;
}

}  // namespace rondel::scalar
