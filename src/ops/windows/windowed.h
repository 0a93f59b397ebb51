#pragma once
#include "ir/builder.h"
#include "kernels/window.h"

#include <vector>

/// The windows of a node over its input, for the gradients of what is computed in each window.
namespace rondel::ops {

/// One number of each window, by axis: `each<&WindowAxis::stride>(windows)`.
template <auto member> ir::Ints each(const std::vector<kernels::WindowAxis>& windows) {
  ir::Ints list;
  for (const kernels::WindowAxis& w : windows) list.push_back(w.*member);
  return list;
}
/// The attribute `pads`: before each axis, then after each.
ir::Ints pads_of(const std::vector<kernels::WindowAxis>&);
/// 2, 3, ... as many as there are spatial axes.
ir::Ints spatial_axes(std::size_t count);

/// The windows of a node, with a kernel of given extents, on each spatial axis of x. An extent of
/// -1 is only known at run time: it is that of `w`. If SAME padding depends on an unknown extent,
/// it is computed at run time: then x itself is padded first, and the windows have no padding.
class Windowed {
 public:
  Windowed(ir::Builder&, const ir::Node&, const ir::Ints& kernel,
           ir::ValueId w = ir::ValueId::none);

  const std::vector<kernels::WindowAxis>& windows() const { return windows_; }
  bool is_same() const;
  /// `v`, which has the spatial extents of x, with the padding that x gets first.
  ir::ValueId with_padding(ir::ValueId v) const;
  /// The inverse of `with_padding`: removes the padding.
  ir::ValueId without_padding(ir::ValueId v) const;

 private:
  ir::ValueId axes() const { return b_.integers(spatial_axes(windows_.size())); }
  kernels::WindowAxis window(std::size_t axis, std::int64_t kernel);
  /// Writes the computation of the SAME pads, which must agree with kernels::axis_of.
  void add_pads(kernels::WindowAxis&);

  ir::Builder& b_;
  const ir::ValueId x_, w_;
  const kernels::WindowSpec spec_;
  std::vector<kernels::WindowAxis> windows_;
  bool padded_first_ = false;
  std::vector<ir::ValueId> begins_, ends_;  ///< i64[1] for each axis, if x is padded first
};

/// `list`, an i64[1], times `factor`; a constant if `list` is a constant.
ir::ValueId times(ir::Builder&, ir::ValueId list, std::int64_t factor);

/// `y` with `before` zeros before and `after` (i64[1]) zeros after an axis; negative numbers remove
/// elements. The result does not use negative pads, because not every runtime supports them.
ir::ValueId padded(ir::Builder&, ir::ValueId y, std::int64_t axis, std::int64_t before,
                   ir::ValueId after);

/// The adjoint of the input of a convolution with `w` from the adjoint of its result. The spatial
/// extents of the input are those of x. `w`: the kernels reversed along their spatial axes, [input
/// channels, output channels of a group, spatial...].
ir::ValueId spread(ir::Builder&, ir::ValueId adjoint, ir::ValueId x, ir::ValueId w,
                   std::int64_t groups, const std::vector<kernels::WindowAxis>&);

}  // namespace rondel::ops
