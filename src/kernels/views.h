#pragma once
#include "kernels/kernel.h"
#include "kernels/stop_check.h"

#include <algorithm>
#include <cstring>

/// Reading and packing of views.
namespace rondel::kernels {

inline std::span<const std::int64_t> extents_of(const View& v, std::size_t rank) {
  return {v.extents, rank};
}

inline std::int64_t product(std::span<const std::int64_t> extents) {
  std::int64_t count = 1;
  for (const std::int64_t e : extents) count *= e;
  return count;
}

/// Whether a view is a row-major block.
inline bool is_row_major(const View& v, std::size_t rank) {
  std::int64_t step = 1;
  for (std::size_t a = rank; a-- > 0;) {
    if (v.extents[a] == 0) return true;
    if (v.extents[a] != 1 && v.strides[a] != step) return false;
    step *= v.extents[a];
  }
  return true;
}

/// Copies the elements at `from`, over the axes of the view from `axis` on, to a row-major block at
/// `to`. Returns the end of the copy.
template <class T>
T* pack(StopCheck& stop, const View& v, std::size_t rank, std::size_t axis, const T* from, T* to) {
  if (axis == rank) {
    *to = *from;
    return to + 1;
  }
  const std::int64_t extent = v.extents[axis], stride = v.strides[axis];
  if (axis + 1 < rank) {
    for (std::int64_t i = 0; i < extent; ++i)
      to = pack(stop, v, rank, axis + 1, from + i * stride, to);
    return to;
  }
  for (std::int64_t done = 0; done < extent; done += StopCheck::interval) {
    const std::int64_t end = std::min(extent, done + StopCheck::interval);
    for (std::int64_t i = done; i < end; ++i) to[i] = from[i * stride];
    stop.add_work(end - done);
  }
  return to + extent;
}

/// The elements of a view as a row-major block: its own memory if it is row-major, else a copy in
/// `packing`.
template <class T>
const T* row_major(StopCheck& stop, const View& v, std::size_t rank, T* packing) {
  const T* data = static_cast<const T*>(v.data);
  if (is_row_major(v, rank)) return data;
  pack(stop, v, rank, 0, data, packing);
  return packing;
}

/// The number of elements of `packing` that `row_major` may need.
inline std::int64_t packing_size(const Operand& o) {
  return !o.given || o.row_major ? 0 : product(o.extents);
}
/// The operand that describes a view; a null address means that it is omitted.
inline Operand operand_of(const View& v, std::size_t rank) {
  if (v.data == nullptr) return {.given = false};
  return {.extents = extents_of(v, rank), .row_major = is_row_major(v, rank)};
}

}  // namespace rondel::kernels
