#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/windows/convolution.h"
#include "ops/windows/windows.h"

#include <array>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;

void deform_conv_rule(ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has(k)) require_same_dtype(c, 0, k);
  const std::int64_t groups = c.attributes().i("offset_group", 1);
  require(groups >= 1, "offset_group is {}; expected 1 or more", groups);
  for (const std::size_t k : {0U, 1U, 2U}) require_rank(c, k, 4);
  if (c.has(3)) {
    require_rank(c, 3, 1);
    fits_output_channels(c, 3, 1, "b");
  }
  convolution_rule(c, 1, c.input(0).dtype(), false);
  const ir::Type &w = c.input(1), y = c.outputs()[0];
  const auto expect = [&](std::size_t k, std::int64_t axis, const ir::Extent& wanted) {
    if (!c.has(k) || !c.input(k).has_rank() || !wanted.known()) return;
    const ir::Extent& given = c.input(k).extent(axis);
    require(!given.known() || given.value == wanted.value,
            "input {} is {}; expected {} along axis {}", k, to_text(c.input(k)), wanted.value,
            axis);
  };
  if (c.has(4)) require_rank(c, 4, 4);
  if (w.has_rank() && w.extent(2).known() && w.extent(3).known()) {
    const std::int64_t taps = groups * w.extent(2).value * w.extent(3).value;
    expect(2, 1, 2 * taps);
    expect(4, 1, taps);
  }
  const ir::Type& x = c.input(0);
  if (x.has_rank() && x.extent(1).known())
    require(x.extent(1).value % groups == 0, "{} channels, which {} offset groups do not divide",
            x.extent(1).value, groups);
  for (const std::size_t k : {2U, 4U}) {
    if (x.has_rank()) expect(k, 0, x.extent(0));
    for (const std::int64_t axis : {2, 3})
      if (y.has_rank()) expect(k, axis, y.extent(axis));
  }
}

/// Element k of a list that may be left out.
std::int64_t at(const Ints& list, std::size_t k, std::int64_t otherwise) {
  return list.empty() ? otherwise : list[k];
}

/// A convolution whose windows read x between its elements: the elements under the windows are
/// interpolated, then multiplied by the kernels as columns of a matrix.
class Deformed {
 public:
  Deformed(ir::Builder& b, const ir::Node& node)
      : b_(b), node_(node), x_(wide_value(b, node.inputs[0])), w_(wide_value(b, node.inputs[1])),
        t_(dtype_of(b, x_)), groups_(b.integers({node.attributes.i("group", 1)})),
        offset_groups_(b.integers({node.attributes.i("offset_group", 1)})),
        n_(extent_of(b, x_, 0)), taps_{extent_of(b, w_, 2), extent_of(b, w_, 3)}, positions_{
                                                                                      windows(0),
                                                                                      windows(1)} {}

  ValueId run() {
    check_extents(2, 2);
    if (has_input(node_, 4)) check_extents(4, 1);
    const ValueId maps = extent_of(b_, w_, 0);
    const ValueId rows = mul(extent_of(b_, w_, 1), mul(taps_[0], taps_[1]));
    const ValueId columns = reshaped(interpolated(),
                                     {n_, groups_, rows, mul(positions_[0], positions_[1])});
    const ValueId kernels = reshaped(w_, {groups_, b_("div", {maps, groups_}), rows});
    ValueId y = reshaped(b_("mat_mul", {kernels, columns}),
                         {n_, maps, positions_[0], positions_[1]});
    if (has_input(node_, 3)) {
      const ValueId bias = with_extent_of(b_, wide_value(b_, node_.inputs[3]), 0, node_.inputs[1],
                                          0, {"the bias", "w"});
      y = add(y, b_("unsqueeze", {bias, b_.integers({1, 2})}));
    }
    return as(b_, y, dtype_of(b_, node_.inputs[0]));
  }

 private:
  ValueId add(ValueId a, ValueId b) const { return b_("add", {a, b}); }
  ValueId mul(ValueId a, ValueId b) const { return b_("mul", {a, b}); }
  ValueId number(double v) const { return b_.scalar(t_, v); }
  ValueId reshaped(ValueId v, std::vector<ValueId> extents) const {
    return b_("reshape", {v, b_("concat", std::move(extents), {{"axis", 0}})}, {{"allowzero", 1}});
  }

  /// The number of windows along a spatial axis, i64[1].
  ValueId windows(std::size_t axis) const {
    const kernels::WindowSpec spec = window_spec(node_.attributes);
    const std::int64_t pads = at(spec.pads, axis, 0) + at(spec.pads, axis + 2, 0);
    const ValueId extent = extent_of(b_, x_, static_cast<std::int64_t>(axis) + 2);
    const ValueId one = b_.integers({1});
    const ValueId reach = mul(b_("sub", {taps_[axis], one}),
                              b_.integers({at(spec.dilations, axis, 1)}));
    const ValueId room = b_("sub", {add(extent, b_.integers({pads - 1})), reach});
    return add(b_("div", {room, b_.integers({at(spec.strides, axis, 1)})}), one);
  }

  /// Offsets or a mask have a place for each tap of each window. The type rule checks what it
  /// knows.
  void check_extents(std::size_t k, std::int64_t parts) const {
    const auto fixed = [&](ValueId v) { return b_.graph().value(v).type.is_static(); };
    if (fixed(node_.inputs[0]) && fixed(node_.inputs[1]) && fixed(node_.inputs[k])) return;
    const ValueId taps = mul(mul(offset_groups_, b_.integers({parts})), mul(taps_[0], taps_[1]));
    const ValueId wanted = b_("concat", {n_, taps, positions_[0], positions_[1]}, {{"axis", 0}});
    require_in_run(b_, b_("equal", {b_("shape", {node_.inputs[k]}), wanted}),
                   fmt::format("the shape of {} does not fit x, w and the attributes",
                               k == 2 ? "offset" : "mask"));
  }

  /// Input k [n, offset groups * taps * parts, height, width] with an axis for each factor:
  /// [n, offset groups, rows of taps, columns of taps, parts, height, width].
  ValueId apart(std::size_t k, std::int64_t parts) const {
    return reshaped(wide_value(b_, node_.inputs[k]),
                    {n_, offset_groups_, taps_[0], taps_[1], b_.integers({parts}), positions_[0],
                     positions_[1]});
  }

  /// Where the taps are along a spatial axis: [n, offset groups, taps, taps, height, width].
  ValueId coordinates(ValueId offsets, std::size_t axis) const {
    const kernels::WindowSpec spec = window_spec(node_.attributes);
    const auto steps = [&](ValueId count, std::int64_t step, const Ints& new_axes) {
      const ValueId all = mul(iota(b_, count), b_.scalar<std::int64_t>(step));
      return new_axes.empty() ? all : b_("unsqueeze", {all, b_.integers(new_axes)});
    };
    const bool rows = axis == 0;
    const ValueId taps = steps(taps_[axis], at(spec.dilations, axis, 1),
                               rows ? Ints{1, 2, 3} : Ints{1, 2});
    const ValueId windows = steps(positions_[axis], at(spec.strides, axis, 1),
                                  rows ? Ints{1} : Ints{});
    const ValueId whole = add(add(taps, windows), b_.scalar<std::int64_t>(-at(spec.pads, axis, 0)));
    const ValueId index = b_.scalar<std::int64_t>(rows ? 0 : 1);
    return add(as(b_, whole, t_), b_("gather", {offsets, index}, {{"axis", 4}}));
  }

  /// One of the two elements along an axis that a coordinate lies between: its index, which is in
  /// range, and its weight, 0 beyond the image.
  struct Neighbour {
    ValueId index, weight;
  };
  Neighbour neighbour(ValueId at, ValueId weight, ValueId last) const {
    const ValueId zero = number(0);
    // False for NaN, too, which then is element 0 with weight 0, as in ONNX Runtime.
    const ValueId inside = b_("and",
                              {b_("less_or_equal", {zero, at}), b_("less_or_equal", {at, last})});
    const ValueId index = b_("where", {inside, at, zero});
    return {as(b_, index, DType::i64), b_("where", {inside, weight, zero})};
  }
  std::vector<Neighbour> neighbours(ValueId at, std::int64_t axis) const {
    const ValueId one = number(1);
    const ValueId last = b_("sub", {as(b_, extent_of(b_, x_, axis + 2), t_), one});
    const ValueId base = b_("floor", {at}), part = b_("sub", {at, base});
    return {neighbour(base, b_("sub", {one, part}), last), neighbour(add(base, one), part, last)};
  }

  /// The elements under all taps: [n, offset groups, channels of a group, taps * height * width].
  ValueId interpolated() const {
    const ValueId offsets = apart(2, 2);
    const std::vector<Neighbour> rows = neighbours(coordinates(offsets, 0), 0),
                                 columns = neighbours(coordinates(offsets, 1), 1);
    const ValueId height = extent_of(b_, x_, 2), width = extent_of(b_, x_, 3);
    const ValueId channels = b_("div", {extent_of(b_, x_, 1), offset_groups_});
    const ValueId planes = reshaped(x_, {n_, offset_groups_, channels, mul(height, width)});
    ValueId sum = ValueId::none;
    for (const Neighbour& row : rows)
      for (const Neighbour& column : columns) {
        const ValueId index = add(mul(row.index, width), column.index);
        const ValueId term = weighted(planes, channels, index, mul(row.weight, column.weight));
        sum = sum == ValueId::none ? term : add(sum, term);
      }
    return sum;
  }
  ValueId weighted(ValueId planes, ValueId channels, ValueId index, ValueId weight) const {
    if (has_input(node_, 4)) weight = mul(weight, b_("squeeze", {apart(4, 1), b_.integers({4})}));
    const ValueId count = b_("reduce_prod", {b_("shape", {index}, {{"start", 2}})},
                             {{"keepdims", 1}});
    const auto listed = [&](ValueId v) {
      return reshaped(v, {n_, offset_groups_, b_.integers({1}), count});
    };
    const ValueId shape = b_("concat", {n_, offset_groups_, channels, count}, {{"axis", 0}});
    const ValueId taken = b_("gather_elements", {planes, b_("expand", {listed(index), shape})},
                             {{"axis", 3}});
    return mul(taken, listed(weight));
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const ValueId x_, w_;
  const DType t_;
  const ValueId groups_, offset_groups_, n_;
  const std::array<ValueId, 2> taps_, positions_;  ///< along the spatial axes
};

ir::Attributes deform_conv_attributes() {
  ir::Attributes a = convolution_attributes();
  a.erase("auto_pad");
  a.set("offset_group", std::int64_t{1});
  return a;
}

const ir::OpEntry deform_conv{{
    .name = "deform_conv",
    .doc = "y = the convolution of x with the kernels w, whose elements are read at offsets, "
           "interpolated and times a mask; plus a bias",
    .inputs =
        {{"x"}, {"w"}, {"offset"}, {"b", ir::InputDef::optional}, {"mask", ir::InputDef::optional}},
    .attributes = deform_conv_attributes(),
    .type = floats_only(deform_conv_rule),
    .meaning = composite([](ir::Builder& b, const ir::Node& n)
                             -> std::vector<ValueId> { return {Deformed(b, n).run()}; },
                         {3}),
}};

}  // namespace
}  // namespace rondel::ops
