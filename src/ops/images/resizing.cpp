#include "ops/images/resizing.h"

#include "ops/gradients.h"

#include <array>

namespace rondel::ops {
namespace {

using ir::ValueId;

/// One resize. Lists have one element for each index of the resized axis.
class AxisResizing {
 public:
  AxisResizing(ir::Builder& b, const AxisResize& r)
      : b_(b), r_(r), zero_(b.scalar<float>(0)), one_(b.scalar<float>(1)),
        half_(b.scalar<float>(0.5)), in_(as(b, r.in, DType::f32)), out_(as(b, r.out, DType::f32)) {}

  ValueId run(ValueId x) {
    const ValueId at = positions();
    const bool outside = r_.coordinates == "tf_crop_and_resize";
    const ValueId y = r_.mode == "nearest"  ? taken(x, nearest(at))
                      : r_.antialias        ? filtered(x, at)
                      : r_.mode == "linear" ? linear(x, at)
                                            : cubic(x, at);
    return outside ? with_extrapolation(y, at) : y;
  }

 private:
  ValueId add(ValueId a, ValueId b) const { return b_("add", {a, b}); }
  ValueId sub(ValueId a, ValueId b) const { return b_("sub", {a, b}); }
  ValueId mul(ValueId a, ValueId b) const { return b_("mul", {a, b}); }
  ValueId div(ValueId a, ValueId b) const { return b_("div", {a, b}); }
  ValueId number(double v) const { return b_.scalar(DType::f32, v); }
  ValueId where(ValueId c, ValueId a, ValueId b) const { return b_("where", {c, a, b}); }

  /// The position on the axis of x of each element of the result.
  ValueId positions() const {
    const ValueId last = sub(in_, one_), several = b_("less", {one_, out_});
    const ValueId i = as(
        b_, b_("range", {b_.scalar<std::int64_t>(0), r_.out, b_.scalar<std::int64_t>(1)}),
        DType::f32);
    const ValueId steps = b_("max", {sub(out_, one_), one_});
    const ValueId half_pixel = sub(div(add(i, half_), r_.scale), half_);
    if (r_.coordinates == "asymmetric") return div(i, r_.scale);
    if (r_.coordinates == "tf_half_pixel_for_nn")  // an axis of scale 1 stays as it is
      return where(b_("equal", {r_.scale, one_}), i, div(add(i, half_), r_.scale));
    if (r_.coordinates == "align_corners") {
      const ValueId gaps = sub(r_.width, one_), none = b_("equal", {gaps, zero_});
      return div(mul(i, last), where(none, one_, gaps));
    }
    if (r_.coordinates == "pytorch_half_pixel") return where(several, half_pixel, zero_);
    if (r_.coordinates == "tf_crop_and_resize") {
      const ValueId step = div(mul(mul(i, sub(r_.end, r_.start)), last), steps);
      const ValueId middle = mul(mul(half_, add(r_.start, r_.end)), last);
      return where(several, add(mul(r_.start, last), step), add(middle, mul(zero_, i)));
    }
    if (r_.coordinates == "half_pixel_symmetric") {
      const ValueId adjustment = div(out_, mul(r_.scale, in_));
      return add(mul(div(in_, number(2)), sub(one_, adjustment)), half_pixel);
    }
    return half_pixel;
  }

  /// Positions, which may be outside the axis, as indices.
  ValueId clamped(ValueId at) const {
    const ValueId index = as(b_, at, DType::i64), first = b_.scalar<std::int64_t>(0);
    const ValueId last = sub(r_.in, b_.scalar<std::int64_t>(1));
    return b_("max", {b_("min", {index, last}), first});
  }
  ValueId taken(ValueId x, ValueId indices) const {
    return b_("gather", {x, indices}, {{"axis", r_.axis}});
  }
  /// A list in the shape in which it is broadcast along the axis of x, in the dtype of x; with
  /// `more` axes after the axis.
  ValueId aligned(ValueId list, ValueId x, std::int64_t more = 0) const {
    const std::int64_t after = r_.rank - 1 - r_.axis;
    ir::Ints axes;
    for (std::int64_t a = 0; a < after; ++a) axes.push_back(1 + more + a);
    const ValueId v = as(b_, list, dtype_of(b_, x));
    return axes.empty() ? v : b_("unsqueeze", {v, b_.integers(axes)});
  }

  ValueId nearest(ValueId at) const {
    if (r_.nearest == "floor" || r_.nearest == "ceil") return clamped(b_(r_.nearest, {at}));
    return clamped(rounded(b_, at, r_.nearest == "round_prefer_ceil"));
  }

  ValueId linear(ValueId x, ValueId at) const {
    const ValueId inside = b_("max", {b_("min", {at, sub(in_, one_)}), zero_});
    const ValueId base = b_("floor", {inside}), part = sub(inside, base);
    return add(mul(taken(x, clamped(base)), aligned(sub(one_, part), x)),
               mul(taken(x, clamped(add(base, one_))), aligned(part, x)));
  }

  /// The cubic filter at distances up to 1, and from 1 to 2.
  ValueId near(ValueId d) const {
    const double a = r_.cubic_a;
    return add(mul(mul(sub(mul(number(a + 2), d), number(a + 3)), d), d), one_);
  }
  ValueId far(ValueId d) const {
    const double a = r_.cubic_a;
    const ValueId inner = add(mul(sub(mul(number(a), d), number(5 * a)), d), number(8 * a));
    return sub(mul(inner, d), number(4 * a));
  }
  /// 1 where a position is on the axis, else 0.
  ValueId is_inside(ValueId at) const {
    const ValueId before = b_("less", {at, zero_}), after = b_("less", {sub(in_, one_), at});
    return where(b_("or", {before, after}), zero_, one_);
  }

  ValueId cubic(ValueId x, ValueId at) const {
    const ValueId base = b_("floor", {at}), part = sub(at, base), rest = sub(one_, part);
    std::array<ValueId, 4> weights{far(add(part, one_)), near(part), near(rest),
                                   far(add(rest, one_))};
    std::array<ValueId, 4> places{};
    for (std::size_t k = 0; k < 4; ++k) places[k] = add(base, number(static_cast<double>(k) - 1));
    if (r_.exclude_outside) {
      for (std::size_t k = 0; k < 4; ++k) weights[k] = mul(weights[k], is_inside(places[k]));
      const ValueId sum = add(add(weights[0], weights[1]), add(weights[2], weights[3]));
      for (ValueId& w : weights) w = div(w, where(b_("equal", {sum, zero_}), one_, sum));
    }
    ValueId y = ValueId::none;
    for (std::size_t k = 0; k < 4; ++k) {
      const ValueId term = mul(taken(x, clamped(places[k])), aligned(weights[k], x));
      y = k == 0 ? term : add(y, term);
    }
    return y;
  }

  /// Linear or cubic with the filter stretched by 1 / scale, if that is above 1.
  ValueId filtered(ValueId x, ValueId at) const {
    const bool is_cubic = r_.mode == "cubic";
    const ValueId scale = b_("min", {r_.scale, one_}), two = number(2);
    const ValueId first = add(b_("floor", {div(number(is_cubic ? -2 : -1), scale)}), one_);
    const ValueId taps = as(
        b_,
        b_("range", {as(b_, first, DType::i64), as(b_, sub(two, first), DType::i64),
                     b_.scalar<std::int64_t>(1)}),
        DType::f32);
    const ValueId base = sub(b_("ceil", {at}), one_), last_axis = b_.integers({1});
    const auto column = [&](ValueId list) { return b_("unsqueeze", {list, last_axis}); };
    const ValueId distance = b_("abs", {mul(sub(taps, column(sub(at, base))), scale)});
    const ValueId places = add(column(base), taps);
    ValueId weights = is_cubic ? where(b_("less", {one_, distance}),
                                       where(b_("less", {distance, two}), far(distance), zero_),
                                       near(distance))
                               : b_("max", {sub(one_, distance), zero_});
    if (r_.exclude_outside) weights = mul(weights, is_inside(places));
    weights = div(weights, reduce_kept(b_, "reduce_sum", weights, {1}));
    const ValueId terms = mul(taken(x, clamped(places)), aligned(weights, x, 1));
    return b_("reduce_sum", {terms, b_.integers({r_.axis + 1})}, {{"keepdims", 0}});
  }

  ValueId with_extrapolation(ValueId y, ValueId at) const {
    const ValueId outside = b_("equal", {is_inside(at), zero_});
    const std::int64_t after = r_.rank - 1 - r_.axis;
    ir::Ints axes;
    for (std::int64_t a = 0; a < after; ++a) axes.push_back(1 + a);
    const ValueId value = b_("cast", {b_.scalar(DType::f32, r_.extrapolation)},
                             {{"to", ir::Type::scalar(dtype_of(b_, y))}});
    return where(axes.empty() ? outside : b_("unsqueeze", {outside, b_.integers(axes)}), value, y);
  }

  ir::Builder& b_;
  const AxisResize& r_;
  const ValueId zero_, one_, half_, in_, out_;
};

}  // namespace

ir::ValueId resized_along(ir::Builder& b, ir::ValueId x, const AxisResize& r) {
  return AxisResizing(b, r).run(x);
}

ir::ValueId scaled_extent(ir::Builder& b, ir::ValueId extent, ir::ValueId scale) {
  // The product is exact in f64.
  const ValueId wide = as(b, as(b, extent, DType::f32), DType::f64);
  return as(b, b("mul", {wide, as(b, scale, DType::f64)}), DType::f32);
}

ir::ValueId rounded(ir::Builder& b, ir::ValueId x, bool halves_up) {
  const ValueId lower = b("floor", {x}), part = b("sub", {x, lower}), half = b.scalar<float>(0.5);
  const ValueId up = halves_up ? b("greater_or_equal", {part, half}) : b("less", {half, part});
  return b("add", {lower, as(b, up, DType::f32)});
}

}  // namespace rondel::ops
