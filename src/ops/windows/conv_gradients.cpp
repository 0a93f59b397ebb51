// Gradients of convolutions and transposed convolutions.
#include "ops/gradients.h"
#include "ops/windows/transposed_axis.h"
#include "ops/windows/window_gradients.h"
#include "ops/windows/windowed.h"
#include "ops/windows/windows.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;
using kernels::WindowAxis;

/// Whether the kernels reach further than the adjoint on each axis, as where they are an adjoint
/// themselves (in the gradient of a kernel's gradient): `spread` would multiply mostly zeros.
bool exceed(const std::vector<WindowAxis>& windows, const ir::Type& adjoint) {
  if (windows.empty() || !adjoint.has_rank()) return false;
  for (std::size_t a = 0; a < windows.size(); ++a) {
    const ir::Extent e = adjoint.extent(static_cast<std::int64_t>(a) + 2);
    if (!e.known() || windows[a].reach() <= e.value) return false;
  }
  return true;
}

/// `spread` for kernels that are large, or whose extents are only known at run time; they are as in
/// the convolution. A transposed convolution multiplies no zeros, however large the kernels are.
ValueId spread_by_transposed(ir::Builder& b, ValueId adjoint, ValueId x, ValueId w,
                             std::int64_t groups, const std::vector<WindowAxis>& windows) {
  // Elements after the last window: fewer than the stride.
  Ints unused = each<&WindowAxis::stride>(windows), axes;
  for (std::size_t a = 0; a < windows.size(); ++a)
    if (--unused[a] > 0) axes.push_back(static_cast<std::int64_t>(a) + 2);
  const ValueId all = b("conv_transpose", {adjoint, w},
                        {{"dilations", each<&WindowAxis::dilation>(windows)},
                         {"strides", each<&WindowAxis::stride>(windows)},
                         {"pads", pads_of(windows)},
                         {"output_padding", unused},
                         {"group", groups}});
  if (axes.empty()) return all;
  std::vector<ValueId> ends;
  for (const std::int64_t axis : axes) ends.push_back(extent_of(b, x, axis));
  return b("slice", {all, b.integers(Ints(axes.size(), 0)),
                     b("concat", std::move(ends), {{"axis", 0}}), b.integers(axes)});
}

/// x with these extents, which may be 0.
ValueId reshaped(ir::Builder& b, ValueId x, ValueId extents) {
  return b("reshape", {x, extents}, {{"allowzero", 1}});
}

/// x with its first two axes swapped.
ValueId swapped(ir::Builder& b, ValueId x, std::int64_t rank) {
  Ints order(static_cast<std::size_t>(rank));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  return b("transpose", {x}, {{"perm", order}});
}

/// w reversed along its spatial axes, with input channels first.
ValueId flipped(ir::Builder& b, ValueId w, const ir::Extents& extents, std::int64_t groups) {
  const std::size_t spatial = extents.size() - 2;
  const auto rank = static_cast<std::int64_t>(extents.size());
  const Ints last(spatial, -1), end(spatial, std::numeric_limits<std::int64_t>::min());
  if (spatial > 0)
    w = b("slice", {w, b.integers(last), b.integers(end), b.integers(spatial_axes(spatial)),
                    b.integers(last)});
  if (groups == 1) return swapped(b, w, rank);
  const std::int64_t maps = extents[0].value / groups, channels = extents[1].value;
  Ints split{groups, maps, channels}, joined{groups * channels, maps}, order{0, 2, 1};
  for (std::size_t a = 0; a < spatial; ++a) {
    split.push_back(extents[a + 2].value);
    joined.push_back(extents[a + 2].value);
    order.push_back(static_cast<std::int64_t>(a) + 3);
  }
  const ValueId apart = b("transpose", {reshaped(b, w, b.integers(split))}, {{"perm", order}});
  return reshaped(b, apart, b.integers(joined));
}

/// x as the input of a convolution that sums over samples: [channels of a group, groups * samples,
/// spatial...], with the samples of a group side by side.
ValueId samples_as_channels(ir::Builder& b, ValueId x, std::int64_t rank, std::int64_t groups) {
  if (groups == 1) return swapped(b, x, rank);
  const ValueId samples = extent_of(b, x, 0), spatial = b("shape", {x}, {{"start", 2}});
  const ir::Type type = b.graph().value(x).type;
  const bool known = type.has_rank() && type.extent(1).known();
  const ValueId channels = known ? b.integers({type.extent(1).value / groups})
                                 : b("div", {extent_of(b, x, 1), b.integers({groups})});
  const ValueId split = b("concat", {samples, b.integers({groups}), channels, spatial},
                          {{"axis", 0}});
  const ValueId joined = b("concat", {channels, times(b, samples, groups), spatial}, {{"axis", 0}});
  Ints order(static_cast<std::size_t>(rank) + 1);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[2]);
  return reshaped(b, b("transpose", {reshaped(b, x, split)}, {{"perm", order}}), joined);
}

/// The adjoint of w. It is a convolution of x with the result's adjoint, with strides and dilations
/// exchanged.
ValueId kernel_adjoint(ir::Builder& b, ValueId adjoint, ValueId x, ValueId w,
                       const std::vector<WindowAxis>& windows, std::int64_t groups) {
  const auto rank = static_cast<std::int64_t>(windows.size()) + 2;
  const ValueId all = b("conv",
                        {samples_as_channels(b, x, rank, groups), swapped(b, adjoint, rank)},
                        {{"dilations", each<&WindowAxis::stride>(windows)},
                         {"strides", each<&WindowAxis::dilation>(windows)},
                         {"pads", pads_of(windows)},
                         {"group", groups}});
  const ValueId dw = swapped(b, all, rank);
  if (windows.empty()) return dw;
  const Ints kernel = each<&WindowAxis::kernel>(windows);
  const bool known = std::ranges::all_of(kernel, [](std::int64_t n) { return n >= 0; });
  const ValueId ends = known ? b.integers(kernel) : b("shape", {w}, {{"start", 2}});
  // If no window covers the last elements of x, the convolution has extra results.
  return b("slice", {dw, b.integers(Ints(windows.size(), 0)), ends,
                     b.integers(spatial_axes(windows.size()))});
}

/// The extents of the windows of a convolution; -1 if they are only known at run time.
Ints kernel_extents(const ir::Node& node, const ir::Type& x, const ir::Type& w) {
  if (!x.has_rank() && !w.has_rank())
    unsupported("the gradient of a convolution of a tensor of unknown rank");
  Ints extents = window_spec(node.attributes).kernel;
  if (extents.empty())
    extents.assign(static_cast<std::size_t>((w.has_rank() ? w : x).rank()) - 2, -1);
  for (std::size_t a = 0; w.has_rank() && a < extents.size(); ++a)
    if (const ir::Extent& e = w.extent(static_cast<std::int64_t>(a) + 2); e.known())
      extents[a] = e.value;
  return extents;
}

}  // namespace

std::vector<ValueId> conv_gradient(ir::Builder& b, const ir::Node& node,
                                   std::span<const ValueId> adjoints) {
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = adjoints[0];
  const ir::Type kernels = b.graph().value(w).type;
  const std::int64_t groups = node.attributes.i("group", 1);
  const Windowed windowed(b, node, kernel_extents(node, b.graph().value(x).type, kernels), w);
  const std::vector<WindowAxis>& windows = windowed.windows();
  const ValueId read = windowed.with_padding(x);
  std::vector<ValueId> result(node.inputs.size(), ValueId::none);
  const bool by_convolution = kernels.is_static() && !exceed(windows, b.graph().value(dy).type);
  const ValueId dx = by_convolution ? spread(b, dy, read, flipped(b, w, kernels.extents(), groups),
                                             groups, windows)
                                    : spread_by_transposed(b, dy, read, w, groups, windows);
  result[0] = windowed.without_padding(dx);
  result[1] = kernel_adjoint(b, dy, read, w, windows, groups);
  if (!has_input(node, 2)) return result;
  Ints axes = spatial_axes(windows.size());
  axes.push_back(0);
  result[2] = b("reduce_sum", {dy, b.integers(axes)}, {{"keepdims", 0}});
  return result;
}

namespace {

/// The windows of the convolution whose adjoint a transposed convolution is.
std::vector<WindowAxis> windows_of_transposed(ir::Builder& b, const ir::Node& node) {
  const ir::Type x = b.graph().value(node.inputs[0]).type, w = b.graph().value(node.inputs[1]).type;
  if (!x.has_rank() && !w.has_rank())
    unsupported("the gradient of a transposed convolution of a tensor of unknown rank");
  const std::int64_t spatial = (w.has_rank() ? w : x).rank() - 2;
  const auto extent = [](const ir::Type& t, std::int64_t axis) {
    return t.has_rank() ? t.extent(axis) : ir::Extent();
  };
  std::vector<WindowAxis> windows;
  for (std::int64_t a = 0; a < spatial; ++a) {
    const ir::Extent in = extent(x, a + 2);
    const TransposedAxis t = transposed_axis(node.attributes, static_cast<std::size_t>(a),
                                             static_cast<std::size_t>(spatial), extent(w, a + 2));
    const auto begin = t.begin(in);
    if (!begin)
      unsupported(
          "the gradient of a transposed convolution of {} with kernels {}, with output_shape or "
          "automatic padding; expected known extents",
          to_text(x), to_text(w));
    WindowAxis window{t.kernel, t.stride, t.dilation, *begin, 0};
    std::int64_t end = t.pad_end - t.output_padding;
    if (t.output_shape >= 0)
      end = (in.value - 1) * t.stride + t.reach() - window.begin - t.output_shape;
    else if (t.same) end = t.reach() - t.stride - window.begin;
    window.end = std::max<std::int64_t>(end, 0);
    windows.push_back(window);
  }
  return windows;
}

}  // namespace

/// The adjoint of x is a convolution of the result's adjoint; the kernels have the adjoint that
/// they have in that convolution if its result has the adjoint x.
std::vector<ValueId> conv_transpose_gradient(ir::Builder& b, const ir::Node& node,
                                             std::span<const ValueId> adjoints) {
  const ValueId x = node.inputs[0], w = node.inputs[1], dy = adjoints[0];
  const std::vector<WindowAxis> windows = windows_of_transposed(b, node);
  const std::int64_t groups = node.attributes.i("group", 1);
  std::vector<ValueId> result(node.inputs.size(), ValueId::none);
  result[0] = b("conv", {dy, w},
                {{"dilations", each<&WindowAxis::dilation>(windows)},
                 {"strides", each<&WindowAxis::stride>(windows)},
                 {"pads", pads_of(windows)},
                 {"group", groups}});
  Ints axes = spatial_axes(windows.size());
  // More output padding than the last window reaches gives the convolution more windows.
  if (!windows.empty())
    result[0] = b("slice", {result[0], b.integers(Ints(windows.size(), 0)),
                            b("shape", {x}, {{"start", 2}}), b.integers(axes)});
  result[1] = kernel_adjoint(b, x, dy, w, windows, groups);
  if (!has_input(node, 2)) return result;
  axes.push_back(0);
  result[2] = b("reduce_sum", {dy, b.integers(axes)}, {{"keepdims", 0}});
  return result;
}

}  // namespace rondel::ops
