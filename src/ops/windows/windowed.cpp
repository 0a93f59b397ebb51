#include "ops/windows/windowed.h"

#include "ops/gradients.h"
#include "ops/windows/windows.h"

#include <algorithm>
#include <numeric>

namespace rondel::ops {

using ir::Ints;
using ir::ValueId;
using kernels::WindowAxis;

namespace {

/// The maximum of `list`, an i64[1], and 0; a constant if `list` is a constant.
ValueId at_least_zero(ir::Builder& b, ValueId list) {
  const Tensor* known = b.graph().constant(list);
  if (known != nullptr) return b.integers({std::max<std::int64_t>(ir::integers_of(*known)[0], 0)});
  return b("max", {list, b.integers({0})});
}

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

}  // namespace

Ints pads_of(const std::vector<WindowAxis>& windows) {
  Ints pads = each<&WindowAxis::begin>(windows);
  const Ints ends = each<&WindowAxis::end>(windows);
  pads.insert(pads.end(), ends.begin(), ends.end());
  return pads;
}

Ints spatial_axes(std::size_t count) {
  Ints axes(count);
  std::iota(axes.begin(), axes.end(), 2);
  return axes;
}

Windowed::Windowed(ir::Builder& b, const ir::Node& node, const Ints& kernel, ValueId w)
    : b_(b), x_(node.inputs[0]), w_(w), spec_(window_spec(node.attributes)) {
  for (std::size_t a = 0; a < kernel.size(); ++a) windows_.push_back(window(a, kernel[a]));
  if (!padded_first_) return;
  for (WindowAxis& of_axis : windows_) add_pads(of_axis);
}

bool Windowed::is_same() const {
  return spec_.auto_pad == kernels::AutoPad::same_upper ||
         spec_.auto_pad == kernels::AutoPad::same_lower;
}

ValueId Windowed::with_padding(ValueId v) const {
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

ValueId Windowed::without_padding(ValueId v) const {
  if (!padded_first_) return v;
  const ValueId start = b_("concat", begins_, {{"axis", 0}});
  const ValueId extents = b_("shape", {x_}, {{"start", 2}});
  return b_("slice", {v, start, b_("add", {start, extents}), axes()});
}

WindowAxis Windowed::window(std::size_t a, std::int64_t kernel) {
  const ir::Type& x = b_.graph().value(x_).type;
  const ir::Extent e = x.has_rank() ? x.extent(static_cast<std::int64_t>(a) + 2) : ir::Extent();
  // With stride 1, SAME padding does not depend on the extent.
  const std::int64_t any = 1;
  const WindowAxis w = kernels::axis_of(spec_, a, e.known() ? e.value : any, kernel);
  const bool known = kernel >= 0 && (e.known() || w.stride == 1);
  padded_first_ = padded_first_ || (is_same() && !known);
  return w;
}

void Windowed::add_pads(WindowAxis& w) {
  const std::int64_t axis = std::ssize(begins_) + 2;
  const ValueId n = extent_of(b_, x_, axis);
  const ValueId count = b_("div",
                           {b_("add", {n, b_.integers({w.stride - 1})}), b_.integers({w.stride})});
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

ValueId times(ir::Builder& b, ValueId list, std::int64_t factor) {
  const Tensor* known = b.graph().constant(list);
  if (known != nullptr) return b.integers({ir::integers_of(*known)[0] * factor});
  return factor == 1 ? list : b("mul", {list, b.integers({factor})});
}

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

}  // namespace rondel::ops
