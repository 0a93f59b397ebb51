// Sums of windows as a scatter that adds: ONNX's Col2Im does not leave out windows, and begins in
// opset 18. Sums of neighbours as sums of slices.
#include "exporters/onnx/decompositions.h"
#include "exporters/onnx/int64_arithmetic.h"
#include "ops/compose.h"

namespace rondel::exporters {
namespace {

using ir::ValueId;

/// The position in y's planes of each element of each window; the number of elements of a plane
/// for those that are left out. The shape is [kernel..., windows...].
class WindowPositions {
 public:
  WindowPositions(ir::Builder& b, const ir::Node& n)
      : b_(b), to_(b), n_(n), axes_(n.attributes.ints("strides").size()),
        size_(b("reduce_prod", {n.inputs[1]}, {{"keepdims", 0}})) {}

  ValueId size() const { return size_; }
  ValueId positions() const {
    ValueId at = to_(0), inside = ValueId::none;
    for (std::size_t a = 0; a < axes_; ++a) {
      const ValueId here = on_axis(a), extent = element(n_.inputs[1], a);
      const ValueId fits = b_(
          "and", {b_("less", {b_.scalar<std::int64_t>(-1), here}), b_("less", {here, extent})});
      inside = a == 0 ? fits : b_("and", {inside, fits});
      at = to_.add(b_("mul", {at, extent}), here);
    }
    return axes_ == 0 ? at : b_("where", {inside, at, size_});
  }

 private:
  ValueId element(ValueId list, std::size_t k) const {
    return b_("gather", {list, to_(static_cast<std::int64_t>(k))});
  }
  /// 0, step, 2 * step, ... along axis `own` of the positions; `own` + 2 is the axis of x.
  ValueId steps(std::size_t own, std::int64_t step) const {
    ir::Ints shape(2 * axes_, 1);
    shape[own] = -1;
    const ValueId count = element(b_("shape", {n_.inputs[0]}), own + 2);
    return b_("reshape", {to_.mul(to_.below(count), step), b_.integers(shape)});
  }
  ValueId on_axis(std::size_t a) const {
    const ValueId elements = steps(a, n_.attributes.ints("dilations")[a]);
    const ValueId windows = steps(axes_ + a, n_.attributes.ints("strides")[a]);
    return to_.add(to_.add(elements, windows), -n_.attributes.ints("begins")[a]);
  }

  ir::Builder& b_;
  Int64Arithmetic to_;
  const ir::Node& n_;
  const std::size_t axes_;
  const ValueId size_;
};

}  // namespace

std::vector<ValueId> add_neighbours(ir::Builder& b, const ir::Node& n) {
  const DType own = ops::dtype_of(b, n.inputs[0]);
  const std::int64_t before = n.attributes.i("before"), after = n.attributes.i("after");
  const ValueId axis = b.integers({n.attributes.i("axis")}), x = ops::wide_value(b, n.inputs[0]);
  const ValueId padded = b("pad", {x, b.integers({before, after}), ValueId::none, axis});
  const ValueId count = b("gather", {b("shape", {x}), axis});
  ValueId sum = b.scalar(ops::dtype_of(b, x), 0);
  for (std::int64_t k = 0; k <= before + after; ++k) {
    const ValueId start = b.integers({k}), end = b("add", {count, start});
    sum = b("add", {sum, b("slice", {padded, start, end, axis})});
  }
  return {ops::as(b, sum, own)};
}

std::vector<ValueId> scatter_windows(ir::Builder& b, const ir::Node& n) {
  const ValueId x = n.inputs[0], one = b.integers({1}), zero = b.integers({0});
  const WindowPositions places(b, n);
  const ValueId planes = b("slice", {b("shape", {x}), zero, b.integers({2})});
  const ValueId plane_count = b("reduce_prod", {planes}, {{"keepdims", 1}});
  const auto list = [&](std::vector<ValueId> parts) {
    return b("concat", std::move(parts), {{"axis", 0}});
  };
  const ValueId positions = b("reshape", {places.positions(), b.integers({-1})});
  const ValueId shape = list({plane_count, b("shape", {positions})});
  const ValueId updates = b("reshape", {x, shape}, {{"allowzero", 1}});
  // The last element of each plane takes what is left out.
  const ValueId room = list(
      {plane_count, b("unsqueeze", {Int64Arithmetic(b).add(places.size(), 1), zero})});
  const ValueId none = b("expand", {b.scalar(ops::dtype_of(b, x), 0), room});
  const ValueId sums = b("scatter_elements", {none, b("expand", {positions, shape}), updates},
                         {{"axis", 1}, {"reduction", "add"}});
  const ValueId kept = b("slice", {sums, zero, b("unsqueeze", {places.size(), zero}), one});
  return {b("reshape", {kept, list({planes, n.inputs[1]})}, {{"allowzero", 1}})};
}

}  // namespace rondel::exporters
