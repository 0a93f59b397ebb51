// Gradients of pooling.
#include "ops/gradients.h"
#include "ops/windows/window_gradients.h"
#include "ops/windows/windowed.h"

namespace rondel::ops {

using ir::Ints;
using ir::ValueId;
using kernels::WindowAxis;

namespace {

/// Whether a window may lie in the padding alone. Its index is -1.
bool may_lie_in_padding(const ir::Attributes& a) {
  const kernels::WindowSpec spec = window_spec(a);
  const std::size_t axes = spec.kernel.size();
  for (std::size_t k = 0; k < spec.pads.size(); ++k)
    if (spec.pads[k] >= spec.kernel[k % axes]) return true;
  const bool is_padded = std::ranges::any_of(spec.pads, [](std::int64_t p) { return p > 0; }) ||
                         spec.auto_pad != kernels::AutoPad::notset || spec.ceil_mode;
  return is_padded && std::ranges::any_of(spec.dilations, [](std::int64_t d) { return d > 1; });
}

}  // namespace

std::vector<ValueId> max_pool_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ValueId> adjoints) {
  if (adjoints[0] == ValueId::none) return {ValueId::none};
  ir::Attributes attributes = node.attributes;
  attributes.set("storage_order", std::int64_t{0});
  const ValueId x = node.inputs[0];
  const ValueId indices = b.add("max_pool", {x}, std::move(attributes), 2)[1];
  ValueId adjoint = adjoints[0];
  if (may_lie_in_padding(node.attributes)) {
    const ValueId zero = b.scalar(dtype_of(b, adjoint), 0);
    adjoint = b("where", {b("less", {indices, b.scalar<std::int64_t>(0)}), zero, adjoint});
  }
  return {scatter_to_positions(b, adjoint, x, indices)};
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
