#include "ops/images/roi_gradients.h"

#include <array>
#include <limits>

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Arithmetic in the dtype that the regions are computed in.
class Arithmetic {
 public:
  Arithmetic(ir::Builder& b, DType t) : b(b), type(t) {}

  ValueId number(double v) const { return b.scalar(type, v); }
  ValueId wide(ValueId v) const { return as(b, v, type); }
  ValueId index(ValueId v) const { return as(b, v, DType::i64); }
  ValueId add(ValueId x, ValueId y) const { return b("add", {x, y}); }
  ValueId sub(ValueId x, ValueId y) const { return b("sub", {x, y}); }
  ValueId mul(ValueId x, ValueId y) const { return b("mul", {x, y}); }
  ValueId div(ValueId x, ValueId y) const { return b("div", {x, y}); }
  ValueId max(ValueId x, ValueId y) const { return b("max", {x, y}); }
  ValueId min(ValueId x, ValueId y) const { return b("min", {x, y}); }
  ValueId less(ValueId x, ValueId y) const { return b("less", {x, y}); }
  ValueId at_most(ValueId x, ValueId y) const { return b("less_or_equal", {x, y}); }
  ValueId both(ValueId x, ValueId y) const { return b("and", {x, y}); }
  ValueId where(ValueId c, ValueId x, ValueId y) const { return b("where", {c, x, y}); }
  ValueId unsqueezed(ValueId x, const ir::Ints& axes) const {
    return b("unsqueeze", {x, b.integers(axes)});
  }
  /// 0, 1, ... to before `end`, an i64[1].
  ValueId counted(ValueId end) const { return wide(iota(b, end)); }
  ValueId counted(std::int64_t end) const { return counted(b.integers({end})); }
  /// Column k of the regions, [count, 1, 1].
  ValueId column(ValueId regions, std::int64_t k) const {
    return unsqueezed(b("gather", {wide(regions), b.integers({k})}, {{"axis", 1}}), {2});
  }

  ir::Builder& b;
  const DType type;
};

/// How much of each element along an axis a bin takes, [count, bins, extent]: of several weights
/// the greatest and the least. Elements that it does not read have a negative weight.
struct Weights {
  ValueId greatest, least;
};

/// The samples of RoiAlign along one axis: each lies between two elements.
class Samples {
 public:
  Samples(const Arithmetic& a, const kernels::RoiAlign& spec, ValueId from, ValueId to,
          std::int64_t bins, ValueId extent)
      : a_(a) {
    const ValueId scale = a.number(spec.scale), half = a.number(0.5);
    const ValueId offset = a.number(spec.half_pixel ? 0.5 : 0), one = a.number(1);
    const ValueId first = a.sub(a.mul(from, scale), offset);
    ValueId length = a.sub(a.sub(a.mul(to, scale), offset), first);
    if (!spec.half_pixel) length = a.max(length, one);
    const ValueId size = a.div(length, a.number(static_cast<double>(bins)));
    const ValueId samples = spec.samples > 0
                                ? a.unsqueezed(a.number(static_cast<double>(spec.samples)),
                                               {0, 1, 2})
                                : a.max(a.b("ceil", {size}), a.number(0));
    count_ = a.max(samples, one);
    const ValueId sample = a.counted(most(spec, samples)), bin = a.unsqueezed(a.counted(bins), {1});
    const ValueId at = a.add(a.add(first, a.mul(bin, size)),
                             a.div(a.mul(a.add(sample, half), size), count_));
    place(a.unsqueezed(at, {3}), a.unsqueezed(a.less(sample, samples), {3}), extent);
  }

  /// The mean over the samples of a bin.
  ValueId mean() const {
    const ValueId sum = a_.add(a_.max(low_, a_.number(0)), a_.max(high_, a_.number(0)));
    return a_.div(a_.b("reduce_sum", {sum, a_.b.integers({2})}, {{"keepdims", 0}}), count_);
  }

  Weights greatest() const {
    const ValueId none = a_.number(2), zero = a_.number(0);
    const auto given = [&](ValueId w) { return a_.where(a_.less(w, zero), none, w); };
    const ir::Attributes dropped{{"keepdims", std::int64_t{0}}};
    const ValueId axis = a_.b.integers({2});
    return {a_.b("reduce_max", {a_.max(low_, high_), axis}, dropped),
            a_.b("reduce_min", {a_.min(given(low_), given(high_)), axis}, dropped)};
  }

 private:
  /// The number of samples of the largest bin, i64[1].
  ValueId most(const kernels::RoiAlign& spec, ValueId samples) const {
    if (spec.samples > 0) return a_.b.integers({spec.samples});
    const ValueId counts = a_.b("reshape", {a_.index(samples), a_.b.integers({-1})});
    const ValueId all = a_.b("concat", {a_.b.integers({0}), counts}, {{"axis", std::int64_t{0}}});
    return a_.b("reduce_max", {all, a_.b.integers({0})}, {{"keepdims", std::int64_t{1}}});
  }

  /// Sets the weights [count, bins, samples, extent] from positions [count, bins, samples, 1].
  void place(ValueId at, ValueId taken, ValueId extent) {
    const ValueId zero = a_.number(0), one = a_.number(1), size = a_.wide(extent);
    const ValueId last = a_.sub(size, one);
    const ValueId inside = a_.both(a_.at_most(a_.number(-1), at), a_.at_most(at, size));
    const ValueId held = a_.where(inside, a_.max(at, zero), zero);
    const ValueId low = a_.min(a_.b("floor", {held}), last);
    const ValueId high = a_.min(a_.add(low, one), last);
    const ValueId part = a_.where(a_.less(low, last), a_.sub(held, low), zero);
    const ValueId of_high = a_.where(inside, part, zero);
    const ValueId of_low = a_.where(inside, a_.sub(one, part), zero);
    const ValueId element = a_.counted(extent), unread = a_.number(-1);
    const auto weight = [&](ValueId place, ValueId w) {
      return a_.where(a_.both(taken, a_.b("equal", {place, element})), w, unread);
    };
    low_ = weight(low, of_low);
    high_ = weight(high, of_high);
  }

  const Arithmetic& a_;
  ValueId count_{}, low_{}, high_{};
};

/// The adjoint of the image, from those of the greatest elements of bins.
class Winners {
 public:
  Winners(const Arithmetic& a, ValueId x, ValueId batch) : a_(a), b_(a.b), x_(x), batch_(batch) {}

  ValueId scattered(ValueId adjoint, const Weights& rows, const Weights& columns) const {
    // [count, channels, height, 1, width] by columns: the greatest of each row of each bin
    const ValueId image = b_("gather", {a_.wide(x_), batch_}, {{"axis", std::int64_t{0}}});
    const Pick across = pick(a_.unsqueezed(image, {3}), spread(columns, {1, 2}));
    // [count, channels, 1, width of bins, height] by rows
    const ValueId turned = b_("transpose", {across.value}, {{"perm", ir::Ints{0, 1, 3, 2}}});
    const Pick down = pick(a_.unsqueezed(turned, {2}), spread(rows, {1, 3}));
    const ValueId row = down.place;
    const auto in_row = [&](ValueId v) {
      return b_("gather_elements", {v, row}, {{"axis", std::int64_t{2}}});
    };
    const ValueId column = in_row(across.place);
    const ValueId weight = a_.mul(down.weight, in_row(across.weight));
    return added_at(row, column, a_.mul(a_.wide(adjoint), weight));
  }

 private:
  struct Pick {
    ValueId value, place, weight;
  };

  static double least_finite(DType t) {
    return t == DType::f64 ? std::numeric_limits<double>::lowest()
                           : std::numeric_limits<float>::lowest();
  }

  Weights spread(const Weights& w, const ir::Ints& axes) const {
    return {a_.unsqueezed(w.greatest, axes), a_.unsqueezed(w.least, axes)};
  }

  /// The greatest weighted element along the last axis, its place, and its weight; a bin that reads
  /// nothing has the value 0 and the weight 0. An element below 0 is greatest with its least
  /// weight.
  Pick pick(ValueId x, const Weights& w) const {
    const ValueId zero = a_.number(0);
    const ValueId chosen = a_.where(a_.less(x, zero), w.least, w.greatest);
    const ValueId unread = a_.less(w.greatest, zero);
    const ValueId below_all = a_.number(-std::numeric_limits<double>::infinity());
    const ValueId product = a_.mul(chosen, x), least = a_.number(least_finite(dtype_of(b_, x)));
    const ValueId finite = a_.where(a_.less(product, least), least, product);
    const ValueId weighted = a_.where(unread, below_all, finite);
    const ValueId place = b_("arg_max", {weighted},
                             {{"axis", std::int64_t{-1}}, {"keepdims", std::int64_t{1}}});
    const ValueId all = a_.where(unread, zero, chosen);
    const ValueId shape = b_("shape", {weighted});
    const auto taken = [&](ValueId v) {
      const ValueId whole = b_("expand", {v, shape});
      const ValueId one = b_("gather_elements", {whole, place}, {{"axis", std::int64_t{-1}}});
      return b_("squeeze", {one, b_.integers({-1})});
    };
    const ValueId weight = taken(all);
    return {a_.mul(weight, taken(x)), b_("squeeze", {place, b_.integers({-1})}), weight};
  }

  /// x's shape with the sums of what is added at [batch element, channel, row, column].
  ValueId added_at(ValueId row, ValueId column, ValueId adjoint) const {
    const auto extent = [&](std::int64_t axis) { return extent_of(b_, x_, axis); };
    const ValueId element = a_.unsqueezed(batch_, {1, 2, 3});
    const ValueId channel = a_.unsqueezed(iota(b_, extent(1)), {1, 2});
    ValueId at = a_.add(a_.mul(element, extent(1)), channel);
    at = a_.add(a_.mul(at, extent(2)), row);
    at = a_.add(a_.mul(at, extent(3)), column);
    const ValueId flat = b_.integers({-1});
    const ValueId zeros = b_("reshape", {a_.wide(zeros_like(b_, x_)), flat});
    const ValueId sums = b_("scatter_elements",
                            {zeros, b_("reshape", {at, flat}), b_("reshape", {adjoint, flat})},
                            {{"axis", std::int64_t{0}}, {"reduction", "add"}});
    return with_shape_of(b_, sums, x_);
  }

  const Arithmetic& a_;
  ir::Builder& b_;
  ValueId x_, batch_;
};

/// The elements of each bin of MaxRoiPool along an axis: those it reads have the weight 1.
Weights bins_of(const Arithmetic& a, ValueId from, ValueId to, std::int64_t bins, double scale,
                ValueId extent) {
  const ValueId zero = a.number(0), one = a.number(1), half = a.number(0.5);
  // Halves are rounded away from zero.
  const auto rounded = [&](ValueId corner) {
    const ValueId v = a.mul(corner, a.number(scale)), size = a.b("abs", {v});
    const ValueId whole = a.b("floor", {size});
    const ValueId up = a.where(a.less(a.sub(size, whole), half), whole, a.add(whole, one));
    return a.mul(a.b("sign", {v}), up);
  };
  const ValueId first = rounded(from);
  const ValueId length = a.max(a.add(a.sub(rounded(to), first), one), one);
  const ValueId size = a.div(length, a.number(static_cast<double>(bins)));
  const ValueId bin = a.unsqueezed(a.counted(bins), {1}), element = a.counted(extent);
  const ValueId begin = a.add(a.b("floor", {a.mul(bin, size)}), first);
  const ValueId end = a.add(a.b("ceil", {a.mul(a.add(bin, one), size)}), first);
  const ValueId read = a.both(a.at_most(begin, element), a.less(element, end));
  const ValueId weight = a.where(read, one, a.sub(zero, one));
  return {weight, weight};
}

}  // namespace

std::vector<ValueId> roi_align_gradient(ir::Builder& b, const ir::Node& n,
                                        const kernels::RoiAlign& spec, ValueId adjoint) {
  const ValueId x = n.inputs[0], regions = n.inputs[1], batch = n.inputs[2];
  const Arithmetic a(b, scalar::compute_type(dtype_of(b, x)));
  const auto samples = [&](std::int64_t corner, std::int64_t bins, std::int64_t axis) {
    return Samples(a, spec, a.column(regions, corner), a.column(regions, corner + 2), bins,
                   extent_of(b, x, axis));
  };
  const Samples rows = samples(1, spec.height, 2), columns = samples(0, spec.width, 3);
  ValueId dx;
  if (spec.mean) {
    const ValueId by_row = b("transpose", {rows.mean()}, {{"perm", ir::Ints{0, 2, 1}}});
    const ValueId across = b("mat_mul", {a.wide(adjoint), a.unsqueezed(columns.mean(), {1})});
    const ValueId whole = b("mat_mul", {a.unsqueezed(by_row, {1}), across});
    dx = scatter_adjoint(b, whole, a.wide(x), {-4}, std::array{batch});
  } else {
    dx = Winners(a, x, batch).scattered(adjoint, rows.greatest(), columns.greatest());
  }
  return {as(b, dx, dtype_of(b, x)), ValueId::none, ValueId::none};
}

std::vector<ValueId> max_roi_pool_gradient(ir::Builder& b, const ir::Node& n,
                                           const ir::Ints& pooled_shape, double scale,
                                           ValueId adjoint) {
  const ValueId x = n.inputs[0], regions = n.inputs[1];
  const Arithmetic a(b, scalar::compute_type(dtype_of(b, x)));
  const ValueId first = b("gather", {a.wide(regions), b.scalar(std::int64_t{0})}, {{"axis", 1}});
  const auto bins = [&](std::int64_t corner, std::int64_t axis) {
    return bins_of(a, a.column(regions, corner), a.column(regions, corner + 2),
                   pooled_shape[static_cast<std::size_t>(axis - 2)], scale, extent_of(b, x, axis));
  };
  const Winners winners(a, x, a.index(first));
  return {as(b, winners.scattered(adjoint, bins(2, 2), bins(1, 3)), dtype_of(b, x)), ValueId::none};
}

}  // namespace rondel::ops
