#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"

#include <array>

namespace rondel::ops {
namespace {

using ir::ValueId;

void check_grid_attributes(const ir::Attributes& a) {
  const std::string mode = a.s("mode", "linear"), padding = a.s("padding_mode", "zeros");
  require(mode == "linear" || mode == "nearest" || mode == "cubic",
          "mode is '{}'; expected linear, nearest or cubic", mode);
  require(padding == "zeros" || padding == "border" || padding == "reflection",
          "padding_mode is '{}'; expected zeros, border or reflection", padding);
}

void grid_sample_rule(ir::TypeContext& c) {
  check_grid_attributes(c.attributes());
  require_dtypes(c, 0, number_dtypes());
  require_dtypes(c, 1, float_dtypes());
  const ir::Type &x = c.input(0), &grid = c.input(1);
  if (!x.has_rank() && !grid.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const std::int64_t rank = x.has_rank() ? x.rank() : grid.rank();
  require(rank >= 3, "input 0 is {}; expected [n, channels, spatial...]", to_text(x));
  require_rank(c, 0, rank);
  require_rank(c, 1, rank);
  if (!x.has_rank() || !grid.has_rank()) return c.output(0, ir::Type::ranked(x.dtype(), rank));
  const ir::Extent &coordinates = grid.extent(rank - 1), &n = grid.extent(0);
  require(!coordinates.known() || coordinates.value == rank - 2,
          "the grid {} has {} coordinates along its last axis; expected {}, one for each spatial "
          "axis",
          to_text(grid), coordinates.value, rank - 2);
  require(!n.known() || !x.extent(0).known() || n.value == x.extent(0).value,
          "x is a batch of {} and the grid of {}", x.extent(0).value, n.value);
  ir::Extents out{x.extent(0), x.extent(1)};
  for (std::int64_t a = 1; a + 1 < rank; ++a) out.push_back(grid.extent(a));
  bool samples = true, empty = false;
  for (std::int64_t a = 2; a < rank; ++a) {
    empty = empty || x.extent(a) == ir::Extent(0);
    samples = samples && out[static_cast<std::size_t>(a)].known() &&
              out[static_cast<std::size_t>(a)].value > 0;
  }
  require(!empty || !samples, "x {} has no elements to sample", to_text(x));
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

/// x in the dtype that its samples are computed in. Integers are rounded towards 0 at the end.
ValueId sampled_value(ir::Builder& b, ValueId x) {
  return is_integer(dtype_of(b, x)) ? as(b, x, DType::f64) : wide_value(b, x);
}

/// Writes a GridSample as sums of gathered elements times weights. Lists of coordinates, positions
/// and weights have the shape of the grid without its last axis.
class GridSampling {
 public:
  GridSampling(ir::Builder& b, const ir::Node& n)
      : b_(b), node_(n), mode_(n.attributes.s("mode", "linear")),
        padding_(n.attributes.s("padding_mode", "zeros")),
        aligned_(n.attributes.flag("align_corners")), x_(sampled_value(b, n.inputs[0])),
        type_(dtype_of(b, x_)), zero_(b.scalar(type_, 0)), one_(b.scalar(type_, 1)) {}

  ValueId run() {
    const ir::Type& x = b_.graph().value(node_.inputs[0]).type;
    if (!x.has_rank()) unsupported("sampling a tensor of unknown rank");
    spatial_ = x.rank() - 2;
    require_extent(b_, node_.inputs[1], -1, spatial_,
                   fmt::format("the grid does not have {} coordinates along its last axis, one for "
                               "each spatial axis",
                               spatial_));
    const ValueId grid = as(b_, node_.inputs[1], type_);
    // The last coordinate is that of the first spatial axis.
    for (std::int64_t a = 0; a < spatial_; ++a) {
      const ValueId extent = b_("gather", {b_("shape", {x_}), b_.scalar(a + 2)});
      extents_.push_back(extent);
      const ValueId own = b_("gather", {grid, b_.scalar(spatial_ - 1 - a)}, {{"axis", -1}});
      axes_.push_back(taps(own, as(b_, extent, type_)));
    }
    const ValueId flat = b_("reshape", {x_, planes()}, {{"allowzero", 1}});
    const ValueId sum = sum_of_taps(flat, 0, ValueId::none, ValueId::none);
    const ValueId shape = b_(
        "concat",
        {b_("shape", {x_}, {{"end", 2}}), b_("shape", {grid}, {{"start", 1}, {"end", -1}})},
        {{"axis", 0}});
    return as(b_, b_("reshape", {sum, shape}, {{"allowzero", 1}}), dtype_of(b_, node_.inputs[0]));
  }

 private:
  /// An element that is read along an axis: its index, which is in range, and its weight.
  struct Tap {
    ValueId index, weight;
  };

  ValueId add(ValueId a, ValueId b) const { return b_("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) const { return b_("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) const { return b_("mul", {a, b}); }
  ValueId number(double v) const { return b_.scalar(type_, v); }
  ValueId clamped(ValueId v, ValueId last) const {
    return b_("max", {b_("min", {v, last}), zero_});
  }

  /// [n, channels, elements of a plane]
  ValueId planes() const {
    ValueId size = extents_[0];
    for (std::size_t a = 1; a < extents_.size(); ++a) size = mul(size, extents_[a]);
    return b_("concat",
              {b_("shape", {x_}, {{"end", 2}}), b_("unsqueeze", {size, b_.integers({0})})},
              {{"axis", 0}});
  }

  /// Coordinates from -1 to 1 as positions on an axis.
  ValueId position(ValueId c, ValueId n) const {
    const ValueId half = number(0.5), from_first = add(c, one_);
    if (aligned_) return mul(mul(from_first, half), sub(n, one_));
    return mul(sub(mul(from_first, n), one_), half);
  }
  /// Positions mirrored at the ends of the axis until they are on it.
  ValueId reflected(ValueId at, ValueId n) const {
    const ValueId low = aligned_ ? zero_ : number(-0.5);
    const ValueId range = b_("max", {aligned_ ? sub(n, one_) : n, number(0.5)}),
                  twice = add(range, range);
    const ValueId offset = b_("abs", {sub(at, low)});
    const ValueId rest = sub(offset, mul(b_("floor", {b_("div", {offset, twice})}), twice));
    return add(low, b_("min", {rest, sub(twice, rest)}));
  }
  ValueId padded(ValueId at, ValueId n) const {
    if (padding_ == "border") return clamped(at, sub(n, one_));
    return padding_ == "reflection" ? reflected(at, n) : at;
  }

  Tap tap(ValueId at, ValueId weight, ValueId n) const {
    const ValueId last = sub(n, one_);
    if (padding_ == "zeros") {
      const ValueId outside = b_("or", {b_("less", {at, zero_}), b_("less", {last, at})});
      weight = b_("where", {outside, zero_, weight});
    } else {
      at = padded(at, n);
    }
    // NaN becomes index 0.
    return {as(b_, clamped(at, last), DType::i64), weight};
  }

  std::vector<Tap> taps(ValueId coordinate, ValueId n) const {
    ValueId at = position(coordinate, n);
    if (mode_ == "nearest") return {tap(b_("round", {padded(at, n)}), one_, n)};
    if (mode_ == "linear") at = padded(at, n);
    const ValueId base = b_("floor", {at}), part = sub(at, base), rest = sub(one_, part);
    if (mode_ == "linear") return {tap(base, rest, n), tap(add(base, one_), part, n)};
    return {tap(sub(base, one_), far(add(part, one_)), n), tap(base, near(part), n),
            tap(add(base, one_), near(rest), n),
            tap(add(base, number(2)), far(add(rest, one_)), n)};
  }

  /// The cubic filter with a = -0.75 at distances up to 1, and from 1 to 2.
  ValueId near(ValueId d) const {
    return add(mul(mul(sub(mul(number(1.25), d), number(2.25)), d), d), one_);
  }
  ValueId far(ValueId d) const {
    const ValueId inner = add(mul(sub(mul(number(-0.75), d), number(-3.75)), d), number(-6));
    return sub(mul(inner, d), number(-3));
  }

  /// The sum over all taps of the axes from `a` on, for a position and a weight along the axes
  /// before it.
  ValueId sum_of_taps(ValueId flat, std::size_t a, ValueId index, ValueId weight) const {
    if (a == axes_.size()) return weighted(flat, index, weight);
    ValueId sum = ValueId::none;
    for (const Tap& t : axes_[a]) {
      const ValueId at = a == 0 ? t.index : add(mul(index, extents_[a]), t.index);
      const ValueId of_all = a == 0 ? t.weight : mul(weight, t.weight);
      const ValueId term = sum_of_taps(flat, a + 1, at, of_all);
      sum = sum == ValueId::none ? term : add(sum, term);
    }
    return sum;
  }
  /// The elements at some positions of each plane, times weights: [n, channels, positions].
  ValueId weighted(ValueId flat, ValueId index, ValueId weight) const {
    const ValueId n = extent_of(b_, x_, 0);
    const ValueId count = b_("reduce_prod", {b_("shape", {index}, {{"start", 1}})},
                             {{"keepdims", 1}});
    const ValueId list = b_("concat", {n, b_.integers({1}), count}, {{"axis", 0}});
    const ValueId shape = b_("concat", {n, extent_of(b_, x_, 1), count}, {{"axis", 0}});
    const auto listed = [&](ValueId v) { return b_("reshape", {v, list}, {{"allowzero", 1}}); };
    const ValueId taken = b_("gather_elements", {flat, b_("expand", {listed(index), shape})},
                             {{"axis", 2}});
    return weight == one_ ? taken
                          : mul(taken, listed(b_("expand", {weight, b_("shape", {index})})));
  }

  ir::Builder& b_;
  const ir::Node& node_;
  const std::string mode_, padding_;
  const bool aligned_;
  const ValueId x_;
  const DType type_;
  const ValueId zero_, one_;
  std::int64_t spatial_ = 0;
  std::vector<ValueId> extents_;
  std::vector<std::vector<Tap>> axes_;
};

const ir::OpEntry grid_sample{{
    .name = "grid_sample",
    .doc =
        "y = x at the positions that the grid lists along its last axis, from -1 to 1 along each "
        "spatial axis, the last axis first: the nearest element, or an interpolation",
    .inputs = {{"x"}, {"grid"}},
    .attributes = {{"align_corners", std::int64_t{0}},
                   {"mode", "linear"},
                   {"padding_mode", "zeros"}},
    .type = grid_sample_rule,
    .meaning = composite([](ir::Builder& b, const ir::Node& n)
                             -> std::vector<ValueId> { return {GridSampling(b, n).run()}; },
                         {0}),
}};

}  // namespace
}  // namespace rondel::ops
