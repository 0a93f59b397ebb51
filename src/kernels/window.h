#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// How a window slides over spatial axes, for convolution and pooling.
namespace rondel::kernels {

/// One axis: the window's extent, steps, and what is added before and after the input.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  /// From the first to the last element that one window touches.
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

enum class AutoPad { notset, valid, same_upper, same_lower };
/// "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"; another text is the caller's error.
AutoPad parse_auto_pad(const std::string&);

/// What a model says of its windows. Empty lists: ones, or zeros for the pads, which are
/// [begins..., ends...].
struct WindowSpec {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;
};

/// What a model says of its pooling.
struct PoolSpec {
  WindowSpec window;
  bool column_major = false;       ///< how indices count the spatial axes
  bool count_include_pad = false;  ///< padding counts in an average
};

/// Requires lists of `spatial` (pads: twice as many) elements, strides, dilations and kernel >= 1.
void check(const WindowSpec&, std::size_t spatial);
/// One axis, with automatic padding worked out for an input of `extent` elements under a kernel of
/// `kernel` (the spec's own is for its author to check).
WindowAxis axis_of(const WindowSpec&, std::size_t axis, std::int64_t extent, std::int64_t kernel);
/// How many places the window takes; requires at least one element under it.
std::int64_t places(const WindowAxis&, std::int64_t extent, bool ceil_mode);

/// The places o of an output for which o * stride + offset lies in [0, extent).
struct Inside {
  std::int64_t from, to;
};
Inside inside(std::int64_t offset, std::int64_t stride, std::int64_t extent, std::int64_t places);

}  // namespace rondel::kernels
