#include "ops/windows/window_gradients.h"

#include "ops/gradients.h"
#include "ops/windows/transposed_axis.h"
#include "ops/windows/windows.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;
using kernels::WindowAxis;

Ints spatial_axes(std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

template <auto member> Ints each(const std::vector<WindowAxis>& windows) {
  Ints list;
  for (const WindowAxis& w : windows) list.push_back(w.*member);
  return list;
}
Ints pads_of(const std::vector<WindowAxis>& windows) {
  Ints pads = each<&WindowAxis::begin>(windows);
  const Ints ends = each<&WindowAxis::end>(windows);
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

/// `list`, an i64[1], times `factor`; a constant if `list` is a constant.
ValueId times(ir::Builder& b, ValueId list, std::int64_t factor) {
  const Tensor* known = b.graph().constant(list);
  if (known != nullptr) return b.integers({ir::integers_of(*known)[0] * factor});
  return factor == 1 ? list : b("mul", {list, b.integers({factor})});
}

/// The maximum of `list`, an i64[1], and 0; a constant if `list` is a constant.
ValueId at_least_zero(ir::Builder& b, ValueId list) {
  const Tensor* known = b.graph().constant(list);
  if (known != nullptr) return b.integers({std::max<std::int64_t>(ir::integers_of(*known)[0], 0)});
  return b("max", {list, b.integers({0})});
}

/// The windows of a node, with a kernel of given extents, on each spatial axis of x. An extent of
/// -1 is only known at run time: it is that of `w`. If SAME padding depends on an unknown extent,
/// it is computed at run time: then x itself is padded first, and the windows have no padding.
class Windowed {
 public:
  Windowed(ir::Builder& b, const ir::Node& node, const Ints& kernel, ValueId w = ValueId::none)
      : b_(b), x_(node.inputs[0]), w_(w), spec_(window_spec(node.attributes)) {
    for (std::size_t a = 0; a < kernel.size(); ++a) windows_.push_back(window(a, kernel[a]));
    if (!padded_first_) return;
    for (WindowAxis& w : windows_) add_pads(w);
  }

  const std::vector<WindowAxis>& windows() const { return windows_; }
  bool is_same() const {
    return spec_.auto_pad == kernels::AutoPad::same_upper ||
           spec_.auto_pad == kernels::AutoPad::same_lower;
  }
  /// `v`, which has the spatial extents of x, with the padding that x gets first.
  ValueId with_padding(ValueId v) const {
    if (!padded_first_) return v;
    std::vector<ValueId> pads = begins_;
    pads.insert(pads.end(), ends_.begin(), ends_.end());
    const ValueId padded = b_(
        "pad", {v, b_("concat", std::move(pads), {{"axis", 0}}), ValueId::none, axes()});
    const ir::Type type = b_.graph().value(v).type;
    ir::Extents extents(windows_.size() + 2);
    if (type.has_rank()) std::copy_n(type.extents().begin(), 2, extents.begin());
    ir::Type& t = b_.graph().value(padded).type;
    t = ir::completed(t, ir::Type::tensor(type.dtype(), std::move(extents)));
    return padded;
  }
  /// The inverse of `with_padding`: removes the padding.
  ValueId without_padding(ValueId v) const {
    if (!padded_first_) return v;
    const ValueId start = b_("concat", begins_, {{"axis", 0}});
    const ValueId extents = b_("shape", {x_}, {{"start", 2}});
    return b_("slice", {v, start, b_("add", {start, extents}), axes()});
  }

 private:
  ValueId axes() const { return b_.integers(spatial_axes(windows_.size())); }
  WindowAxis window(std::size_t a, std::int64_t kernel) {
    const ir::Type& x = b_.graph().value(x_).type;
    const ir::Extent e = x.has_rank() ? x.extent(static_cast<std::int64_t>(a) + 2) : ir::Extent();
    // With stride 1, SAME padding does not depend on the extent.
    const std::int64_t any = 1;
    const WindowAxis w = kernels::axis_of(spec_, a, e.known() ? e.value : any, kernel);
    const bool known = kernel >= 0 && (e.known() || w.stride == 1);
    padded_first_ = padded_first_ || (is_same() && !known);
    return w;
  }

  /// Writes the computation of the SAME pads, which must agree with kernels::axis_of.
  void add_pads(WindowAxis& w) {
    const std::int64_t axis = std::ssize(begins_) + 2;
    const ValueId n = extent_of(b_, x_, axis);
    const ValueId count = b_(
        "div", {b_("add", {n, b_.integers({w.stride - 1})}), b_.integers({w.stride})});
    const ValueId room = b_("sub", {times(b_, count, w.stride), n});
    const ValueId kernel = w.kernel >= 0 ? b_.integers({w.kernel}) : extent_of(b_, w_, axis);
    const ValueId more_than_stride = sum_of_integers(b_, times(b_, kernel, w.dilation),
                                                     b_.integers({1 - w.dilation - w.stride}));
    const ValueId total = at_least_zero(b_, sum_of_integers(b_, room, more_than_stride));
    const ValueId less = b_("div", {total, b_.integers({2})}), more = b_("sub", {total, less});
    const bool upper = spec_.auto_pad == kernels::AutoPad::same_upper;
    begins_.push_back(upper ? less : more);
    ends_.push_back(upper ? more : less);
    w.begin = w.end = 0;
  }

  ir::Builder& b_;
  const ValueId x_, w_;
  const kernels::WindowSpec spec_;
  std::vector<WindowAxis> windows_;
  bool padded_first_ = false;
  std::vector<ValueId> begins_, ends_;  ///< i64[1] for each axis, if x is padded first
};

/// y with stride - 1 zeros inserted after each element along a spatial axis.
ValueId with_zeros_between(ir::Builder& b, ValueId y, std::int64_t axis, std::int64_t rank,
                           std::int64_t stride) {
  if (stride == 1) return y;
  const std::int64_t from_end = axis - rank;
  const ValueId shape = shape_with_extent(b, y, from_end, times(b, extent_of(b, y, axis), stride));
  const ValueId column = b("unsqueeze", {y, b.integers({axis + 1})});
  const ValueId zeros = b.integers({0, stride - 1});
  return b("reshape", {b("pad", {column, zeros, ValueId::none, b.integers({axis + 1})}), shape});
}

/// `y` with `before` zeros before and `after` (i64[1]) zeros after an axis; negative numbers remove
/// elements. The result does not use negative pads, because not every runtime supports them.
ValueId padded(ir::Builder& b, ValueId y, std::int64_t axis, std::int64_t before, ValueId after) {
  const Tensor* known = b.graph().constant(after);
  const std::int64_t number = known != nullptr ? ir::integers_of(*known)[0] : -1;
  const ValueId zero = b.integers({0}), axes = b.integers({axis});
  const ValueId added = at_least_zero(b, after);
  const ValueId pads = b("concat", {b.integers({std::max<std::int64_t>(before, 0)}), added},
                         {{"axis", 0}});
  const ValueId more = b("pad", {y, pads, ValueId::none, axes});
  if (before >= 0 && known != nullptr && number >= 0) return more;
  const ValueId start = b.integers({std::max<std::int64_t>(-before, 0)});
  const ValueId removed = b("min", {after, zero});
  return b("slice", {more, start, sum_of_integers(b, extent_of(b, more, axis), removed), axes});
}

/// The adjoint of the input of a convolution with `w` from the adjoint of its result. The spatial
/// extents of the input are those of x. `w` is the result of `flipped`: [input channels, output
/// channels of a group, spatial...].
ValueId spread(ir::Builder& b, ValueId adjoint, ValueId x, ValueId w, std::int64_t groups,
               const std::vector<WindowAxis>& windows) {
  const auto rank = static_cast<std::int64_t>(windows.size()) + 2;
  for (std::size_t a = 0; a < windows.size(); ++a) {
    const WindowAxis& window = windows[a];
    const std::int64_t axis = static_cast<std::int64_t>(a) + 2;
    const ValueId used = times(b, extent_of(b, adjoint, axis), -window.stride);
    const ValueId unused = sum_of_integers(b, extent_of(b, x, axis), used);
    adjoint = padded(b, with_zeros_between(b, adjoint, axis, rank, window.stride), axis,
                     window.reach() - 1 - window.begin,
                     sum_of_integers(b, unused, b.integers({window.begin})));
  }
  return b("conv", {adjoint, w},
           {{"dilations", each<&WindowAxis::dilation>(windows)}, {"group", groups}});
}

/// `spread` for kernels whose extents are only known at run time; they are as in the convolution.
/// A transposed convolution multiplies no zeros, however large the kernels are.
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
  const ValueId apart = b("transpose", {b("reshape", {w, b.integers(split)})}, {{"perm", order}});
  return b("reshape", {apart, b.integers(joined)});
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
  return b("reshape", {b("transpose", {b("reshape", {x, split})}, {{"perm", order}}), joined});
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
  const ValueId dx = kernels.is_static()
                         ? spread(b, dy, read, flipped(b, w, kernels.extents(), groups), groups,
                                  windows)
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

std::vector<ValueId> max_pool_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ValueId> adjoints) {
  if (adjoints[0] == ValueId::none) return {ValueId::none};
  ir::Attributes attributes = node.attributes;
  attributes.set("storage_order", std::int64_t{0});
  const ValueId x = node.inputs[0];
  const ValueId indices = b.add("max_pool", {x}, std::move(attributes), 2)[1];
  return {scatter_to_positions(b, adjoints[0], x, indices)};
}

namespace {

/// x with each channel of each sample as a batch element: [n * channels, 1, spatial...].
ValueId channels_as_batch(ir::Builder& b, ValueId x) {
  const ValueId spatial = b("shape", {x}, {{"start", 2}});
  return b("reshape", {x, b("concat", {b.integers({-1, 1}), spatial}, {{"axis", 0}})});
}

/// Ones with the spatial extents of x, extended by the padding if it counts in an average.
ValueId counted_ones(ir::Builder& b, const ir::Node& node, const Windowed& windowed, DType t) {
  const ValueId x = node.inputs[0];
  const bool with_pads = node.attributes.flag("count_include_pad");
  std::vector<ValueId> extents{b.integers({1, 1})};
  for (const WindowAxis& w : windowed.windows()) {
    const ValueId pads = b.integers({with_pads ? w.begin + w.end : 0});
    extents.push_back(sum_of_integers(b, extent_of(b, x, std::ssize(extents) + 1), pads));
  }
  const ValueId shape = b("concat", std::move(extents), {{"axis", 0}});
  return windowed.with_padding(b("expand", {b.scalar(t, 1), shape}));
}

/// `ones` with zeros around them, up to the end of the last window. With ceil_mode, that may be
/// beyond the padding. `adjoint` has one element for each window.
ValueId padded_to_last_window(ir::Builder& b, const ir::Node& node, const Windowed& windowed,
                              ValueId ones, ValueId adjoint) {
  for (std::size_t a = 0; a < windowed.windows().size(); ++a) {
    const WindowAxis& w = windowed.windows()[a];
    const std::int64_t axis = static_cast<std::int64_t>(a) + 2;
    const std::int64_t before = node.attributes.flag("count_include_pad") ? 0 : w.begin;
    const ValueId windows = times(b, extent_of(b, adjoint, axis), w.stride);
    const ValueId reached = sum_of_integers(b, windows,
                                            b.integers({w.reach() - w.stride - before}));
    const ValueId own = times(b, extent_of(b, ones, axis), -1);
    ones = padded(b, ones, axis, before, sum_of_integers(b, reached, own));
  }
  return ones;
}

/// The kernel whose sums pooling averages, [1, 1, spatial...], in the dtype that x is computed in.
ValueId kernel_of_ones(ir::Builder& b, const ir::Node& node) {
  const Ints kernel = node.attributes.ints("kernel_shape");
  Ints of_one_channel{1, 1};
  of_one_channel.insert(of_one_channel.end(), kernel.begin(), kernel.end());
  const DType t = scalar::compute_type(dtype_of(b, node.inputs[0]));
  return b("expand", {b.scalar(t, 1), b.integers(of_one_channel)});
}

/// The number of elements that each window averages, in the dtype of the kernel of ones.
ValueId elements_under_windows(ir::Builder& b, const ir::Node& node, const Windowed& windowed,
                               ValueId ones_of_kernel, ValueId adjoint) {
  const std::vector<WindowAxis>& windows = windowed.windows();
  const bool may_reach_beyond = node.attributes.flag("ceil_mode") && !windowed.is_same();
  if (node.attributes.flag("count_include_pad") && !may_reach_beyond) {
    double all = 1;
    for (const WindowAxis& w : windows) all *= static_cast<double>(w.kernel);
    return b.scalar(dtype_of(b, ones_of_kernel), all);
  }
  ValueId ones = counted_ones(b, node, windowed, dtype_of(b, ones_of_kernel));
  if (may_reach_beyond) ones = padded_to_last_window(b, node, windowed, ones, adjoint);
  const Ints none(2 * windows.size(), 0);
  return b("conv", {ones, ones_of_kernel},
           {{"dilations", each<&WindowAxis::dilation>(windows)},
            {"strides", each<&WindowAxis::stride>(windows)},
            {"pads", may_reach_beyond ? none : pads_of(windows)}});
}

}  // namespace

/// Average pooling is a convolution of each channel with a kernel of ones, divided by the number of
/// elements. The gradient is computed as the gradient of that convolution, in wide floats: an f16
/// holds no large count.
std::vector<ValueId> average_pool_gradient(ir::Builder& b, const ir::Node& node,
                                           std::span<const ValueId> adjoints) {
  const ValueId x = node.inputs[0];
  const Windowed windowed(b, node, node.attributes.ints("kernel_shape"));
  const ValueId ones = kernel_of_ones(b, node);
  const ValueId count = elements_under_windows(b, node, windowed, ones, adjoints[0]);
  const ValueId read = windowed.with_padding(x);
  const ValueId dy = channels_as_batch(b, wide_value(b, adjoints[0]));
  const ValueId sums = spread(b, b("div", {dy, count}), read, ones, 1, windowed.windows());
  const ValueId dx = with_shape_of(b, windowed.without_padding(sums), x);
  return {as(b, dx, dtype_of(b, x))};
}

ValueId counted_under_windows(ir::Builder& b, const ir::Node& node, ValueId means) {
  const Windowed windowed(b, node, node.attributes.ints("kernel_shape"));
  return elements_under_windows(b, node, windowed, kernel_of_ones(b, node), means);
}

}  // namespace rondel::ops
