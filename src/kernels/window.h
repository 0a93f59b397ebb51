#pragma once
#include <cstdint>
#include <string>
#include <vector>

/// How a window slides over spatial axes, for convolution and pooling.
namespace rondel::kernels {

/// One axis: the window's extent, steps, and the padding before and after the input.
struct WindowAxis {
  std::int64_t kernel = 1, stride = 1, dilation = 1, begin = 0, end = 0;
  /// From the first to the last element that one window touches.
  std::int64_t reach() const { return (kernel - 1) * dilation + 1; }
};

enum class AutoPad { notset, valid, same_upper, same_lower };
/// "NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"; another text is the caller's error.
AutoPad parse_auto_pad(const std::string&);

/// A model's windows. Empty lists: ones, or zeros for the pads, which are
/// [begins..., ends...].
struct WindowSpec {
  std::vector<std::int64_t> kernel, strides, dilations, pads;
  AutoPad auto_pad = AutoPad::notset;
  bool ceil_mode = false;
};

/// A model's convolution.
struct ConvSpec {
  WindowSpec window;
  std::int64_t groups = 1;
};

/// A model's pooling.
struct PoolSpec {
  WindowSpec window;
  bool column_major = false;       ///< how indices count the spatial axes
  bool count_include_pad = false;  ///< padding counts in an average
};

/// Requires lists of `spatial` (pads: twice as many) elements, strides, dilations and kernel >= 1.
void check(const WindowSpec&, std::size_t spatial);
/// One axis, with automatic padding computed for an input of `extent` elements and a kernel of
/// `kernel` elements (the caller checks the spec's own kernel).
WindowAxis axis_of(const WindowSpec&, std::size_t axis, std::int64_t extent, std::int64_t kernel);
/// The number of positions of the window; the window must fit into the padded input.
std::int64_t window_count(const WindowAxis&, std::int64_t extent, bool ceil_mode);

/// a / b rounded up, for b > 0; 0 where a is negative.
inline std::int64_t divide_up(std::int64_t a, std::int64_t b) {
  return a <= 0 ? 0 : (a - 1) / b + 1;
}

/// The output positions o, of `count`, for which o * stride + offset is in [0, extent).
struct Inside {
  std::int64_t from, to;
};
Inside inside(std::int64_t offset, std::int64_t stride, std::int64_t extent, std::int64_t count);

}  // namespace rondel::kernels
