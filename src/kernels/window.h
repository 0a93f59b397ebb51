#pragma once
#include "base/checked.h"
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

/// Windows that slide over spatial axes, for convolution and pooling.
namespace rondel::kernels {

/// A window along one axis. `begin`, `end`: the padding before and after the input.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  /// The extent from the first to the last element under one window, inclusive.
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

enum class AutoPad { notset, valid, same_upper, same_lower };
/// "NOTSET" or "", "VALID", "SAME_UPPER" or "SAME_LOWER". Throws Error(caller) for any other text.
AutoPad parse_auto_pad(const std::string&);

/// The attributes of a window. `pads` is [begins..., ends...]. An empty list means ones, for `pads`
/// zeros.
struct WindowSpec {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;
};

/// The attributes of a convolution.
struct ConvSpec {
  WindowSpec window;
  std::int64_t groups = 1;
};

/// The attributes of a pooling.
struct PoolSpec {
  WindowSpec window;
  bool column_major = false;       ///< output indices number the spatial axes in column-major order
  bool count_include_pad = false;  ///< the element count of an average includes padding
};

/// Throws Error(caller) unless each list is empty or has `spatial` elements (pads: twice as many),
/// all elements of kernel, strides and dilations are >= 1, all pads are >= 0, and nothing exceeds
/// 2^31.
void check(const WindowSpec&, std::size_t spatial);
/// The window along one axis, with automatic padding computed for an input of `extent` elements.
/// `kernel` is used instead of the spec's kernel; the caller checks that they agree.
WindowAxis axis_of(const WindowSpec&, std::size_t axis, std::int64_t extent, std::int64_t kernel);
/// The number of positions of the window. Throws Error(caller) if the window does not fit into the
/// padded input.
std::int64_t window_count(const WindowAxis&, std::int64_t extent, bool ceil_mode);

/// The output positions o in [0, count) for which o * stride + offset is in [0, extent).
struct Inside {
  std::int64_t from, to;
};
inline Inside inside(std::int64_t offset, std::int64_t stride, std::int64_t extent,
                     std::int64_t count) {
  if (stride == 1) {  // without divisions, because fast kernels call this for each row
    const std::int64_t from = std::clamp<std::int64_t>(-offset, 0, count);
    return {from, std::clamp(extent - offset, from, count)};
  }
  const std::int64_t from = std::min(divide_up(-offset, stride), count);
  return {from, std::clamp(divide_up(extent - offset, stride), from, count)};
}

}  // namespace rondel::kernels
