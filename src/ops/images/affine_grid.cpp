#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::ValueId;

/// The number of spatial axes: of theta [n, axes, axes + 1], or of a size of axes + 2 numbers.
/// Unknown if neither tells.
Extent spatial_axes(const ir::Type& theta, const ir::Type& size) {
  if (theta.has_rank() && theta.extent(1).known()) return theta.extent(1);
  if (theta.has_rank() && theta.extent(2).known()) return Extent(theta.extent(2).value - 1);
  return size.has_rank() && size.extent(0).known() ? Extent(size.extent(0).value - 2) : Extent();
}

Extent spatial_axes(const ir::Graph& g, const ir::Node& n) {
  return spatial_axes(g.value(n.inputs[0]).type, g.value(n.inputs[1]).type);
}

void affine_grid_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, float_dtypes());
  require_rank(c, 0, 3);
  require_rank(c, 1, 1);
  const ir::Type &theta = c.input(0), &size = c.input(1);
  const Extent axes = spatial_axes(theta, size);
  if (!axes.known()) return c.output(0, ir::Type::unranked(theta.dtype()));
  const std::int64_t n = axes.value;
  const auto is = [](const Extent& e, std::int64_t v) { return !e.known() || e.value == v; };
  const bool fits = !theta.has_rank() || (is(theta.extent(1), n) && is(theta.extent(2), n + 1));
  require((n == 2 || n == 3) && fits, "theta is {}; expected [n, 2, 3] or [n, 3, 4]",
          to_text(theta));
  if (size.has_rank())
    require(is(size.extent(0), n + 2), "size has {} elements; expected n, channels and {} extents",
            size.extent(0).value, n);
  ir::Extents out(static_cast<std::size_t>(n + 2));
  out.back() = axes;
  if (const auto elements = c.elements(1)) {
    const auto extent = [&](std::int64_t k) {
      return Extent((*elements)[static_cast<std::size_t>(k)]);
    };
    out[0] = extent(0);
    require(!theta.has_rank() || !out[0].known() || is(theta.extent(0), out[0].value),
            "theta is {} and size begins with {}; expected the same batch", to_text(theta),
            out[0].value);
    for (std::int64_t k = 0; k < n; ++k) out[static_cast<std::size_t>(k + 1)] = extent(k + 2);
  }
  if (!out[0].known() && theta.has_rank()) out[0] = theta.extent(0);
  c.output(0, ir::Type::tensor(theta.dtype(), std::move(out)));
}

/// Writes the grid as a matrix product: theta times the positions of all elements, of which each
/// column lists the coordinates, the last axis first, and 1.
class AffineGrid {
 public:
  AffineGrid(ir::Builder& b, const ir::Node& n)
      : b_(b), theta_(wide_value(b, n.inputs[0])), size_(n.inputs[1]), type_(dtype_of(b, theta_)),
        aligned_(n.attributes.flag("align_corners")) {
    const Extent axes = spatial_axes(b.graph(), n);
    if (!axes.known()) unsupported("an AffineGrid whose number of axes is unknown");
    axes_ = axes.value;
    extents_ = b("slice", {size_, b.integers({2}), b.integers({axes_ + 2}), b.integers({0})});
    row_ = b("concat", {b.integers({1}), b("reduce_prod", {extents_}, {{"keepdims", 1}})},
             {{"axis", 0}});
  }

  ValueId run() {
    std::vector<ValueId> rows;
    for (std::int64_t axis = axes_; axis-- > 0;) rows.push_back(coordinates(axis));
    rows.push_back(b_("expand", {number(1), row_}));
    const ValueId positions = b_("concat", std::move(rows), {{"axis", 0}});
    const ValueId grid = b_("transpose", {b_("mat_mul", {theta_, positions})},
                            {{"perm", ir::Ints{0, 2, 1}}});
    const ValueId shape = b_("concat", {integer_at(b_, size_, 0), extents_, b_.integers({axes_})},
                             {{"axis", 0}});
    return b_("reshape", {grid, shape}, {{"allowzero", 1}});
  }

 private:
  ValueId number(double v) const { return b_.scalar(type_, v); }

  /// The coordinate along an axis of all elements, [1, elements]: from -1 to 1 between the centers
  /// of the first and the last element if the corners are aligned, else between their outer edges.
  /// A single aligned element is at -1, as in ONNX's reference.
  ValueId coordinates(std::int64_t axis) {
    const ValueId count = integer_at(b_, size_, axis + 2), n = as(b_, count, type_);
    const ValueId steps = aligned_ ? b_("max", {b_("sub", {n, number(1)}), number(1)}) : n;
    const ValueId step = b_("div", {number(2), steps});
    const ValueId first = aligned_ ? number(-1)
                                   : b_("add", {number(-1), b_("div", {step, number(2)})});
    ValueId along = b_("add", {first, b_("mul", {as(b_, iota(b_, count), type_), step})});
    ir::Ints trailing;
    for (std::int64_t k = axis + 1; k < axes_; ++k) trailing.push_back(k - axis);
    if (!trailing.empty()) along = b_("unsqueeze", {along, b_.integers(trailing)});
    return b_("reshape", {b_("expand", {along, extents_}), row_}, {{"allowzero", 1}});
  }

  ir::Builder& b_;
  const ValueId theta_, size_;
  const DType type_;
  const bool aligned_;
  std::int64_t axes_ = 0;
  ValueId extents_;  ///< of the spatial axes
  ValueId row_;      ///< the shape of all elements' coordinates along one axis
};

const ir::OpEntry affine_grid{{
    .name = "affine_grid",
    .doc = "y = for each element of a grid of that size, from -1 to 1 along each spatial axis, its "
           "position after the affine map theta, the last axis first",
    .inputs = {{"theta"}, {"size"}},
    .attributes = {{"align_corners", std::int64_t{0}}},
    .type = affine_grid_rule,
    .meaning = composite_when(
        [](const ir::Graph& g, const ir::Node& n) { return spatial_axes(g, n).known(); },
        [](ir::Builder& b, const ir::Node& n) -> std::vector<ValueId> {
          return {as(b, AffineGrid(b, n).run(), dtype_of(b, n.inputs[0]))};
        }),
    .value_inputs = {1},
}};

}  // namespace
}  // namespace rondel::ops
