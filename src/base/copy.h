#pragma once
#include <rondel/tensor.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

/// Copies and fills of large tensors in parts, so that a run can stop between two parts.
namespace rondel {

/// Bytes per part: copying a part takes some tens of microseconds.
inline constexpr std::size_t copied_at_once = std::size_t{1} << 18;

/// Splits `a` and `b`, which have the same shape, into parts of at most about `copied_at_once`
/// bytes: along the outermost axes if both are contiguous, else along the longest ones, because
/// where elements lie in different orders square parts are copied fastest. Calls f(part of a, part
/// of b) for each pair. `f` may throw.
template <class F> void in_parts(const Tensor& a, const Tensor& b, const F& f) {
  const auto width = static_cast<std::int64_t>(byte_size(a.dtype()));
  const std::int64_t size = a.size(), most = static_cast<std::int64_t>(copied_at_once) / width;
  if (size <= most) return f(a, b);
  const bool contiguous = a.contiguous() && b.contiguous();
  const auto found = contiguous ? std::ranges::find_if(a.shape(), [](auto e) { return e > 1; })
                                : std::ranges::max_element(a.shape());
  const auto axis = static_cast<std::size_t>(found - a.shape().begin());
  const std::int64_t extent = a.shape()[axis], row = size / extent;
  const std::int64_t rows = contiguous ? std::max<std::int64_t>(most / row, 1) : (extent + 1) / 2;
  for (std::int64_t from = 0; from < extent; from += rows) {
    Shape shape = a.shape();
    shape[axis] = std::min(rows, extent - from);
    in_parts(a.strided(from * a.strides()[axis], shape, a.strides()),
             b.strided(from * b.strides()[axis], shape, b.strides()), f);
  }
}

/// to = from; `check` is called before each part and may throw.
template <class F> void assign_in_parts(const Tensor& from, const Tensor& to, const F& check) {
  in_parts(from, to, [&](const Tensor& source, const Tensor& target) {
    check();
    target.assign(source);
  });
}

/// Zeroes a row-major tensor, which must not hold strings; `check` is called before each part and
/// may throw.
template <class F> void clear_in_parts(const Tensor& t, const F& check) {
  const std::size_t bytes = static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
  for (std::size_t at = 0; at < bytes; at += copied_at_once) {
    check();
    std::memset(t.data_as<char>() + at, 0, std::min(copied_at_once, bytes - at));
  }
}

}  // namespace rondel
