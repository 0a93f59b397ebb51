// MaxPool of 64-bit integers, which no float holds exactly. Works axis by axis: a Gather collects
// the elements of each window, a ReduceMax takes the maximum. This is correct because the maximum
// of a window is the maximum of the maxima of its rows.
#include "exporters/onnx/decompositions.h"
#include "exporters/onnx/int64_arithmetic.h"
#include "ops/compose.h"
#include "ops/windows/pooling.h"
#include "ops/windows/windows.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondel::exporters {
namespace {

using ir::ValueId;
using kernels::WindowAxis;
using kernels::WindowSpec;
using Values = std::vector<ValueId>;

constexpr std::int64_t nowhere = std::numeric_limits<std::int64_t>::max();

/// The indices along one axis for each window, [positions, kernel]. The index of padding is
/// `extent`; in a window that lies entirely in padding it is `extent + 1`.
struct WindowIndices {
  ValueId indices;
  bool padding;  ///< whether some indices may be padding
};

WindowIndices known_indices(ir::Builder& b, const WindowSpec& spec, std::size_t axis,
                            std::int64_t extent) {
  const WindowAxis w = kernels::axis_of(spec, axis, extent, spec.kernel[axis]);
  const std::int64_t positions = kernels::window_count(w, extent, spec.ceil_mode);
  bool padding = false;
  Tensor all(DType::i64, {positions, w.kernel});
  for (std::int64_t position = 0; position < positions; ++position) {
    const std::span line(all.data_as<std::int64_t>() + position * w.kernel,
                         static_cast<std::size_t>(w.kernel));
    for (std::size_t k = 0; k < line.size(); ++k) {
      const std::int64_t at = position * w.stride - w.begin +
                              static_cast<std::int64_t>(k) * w.dilation;
      line[k] = at < 0 || at >= extent ? extent : at;
    }
    padding = padding || std::ranges::count(line, extent) > 0;
    if (std::ranges::count(line, extent) == w.kernel) std::ranges::fill(line, extent + 1);
  }
  return {b.constant(all), padding};
}

/// kernels::axis_of and kernels::window_count for an extent that is known at run time: the number
/// of window positions (an error if the window does not fit), and the padding before the first one.
struct Slide {
  ValueId positions, begin;
};

Slide slide(ir::Builder& b, const WindowSpec& spec, std::size_t axis, ValueId extent) {
  const Int64Arithmetic n(b);
  const WindowAxis w = kernels::axis_of(spec, axis, 0, spec.kernel[axis]);
  const bool upper = spec.auto_pad == kernels::AutoPad::same_upper;
  ValueId begin = n(w.begin), padding = n(w.begin + w.end);
  if (upper || spec.auto_pad == kernels::AutoPad::same_lower) {
    const ValueId count = n.div(n.add(extent, w.stride - 1), w.stride);
    const ValueId reached = n.add(n.mul(count, w.stride), w.reach() - w.stride);
    padding = b("max", {n.sub(reached, extent), n(0)});
    begin = n.div(upper ? padding : n.add(padding, 1), 2);
  }
  const ValueId room = n.add(n.add(extent, padding), -w.reach());
  ValueId last = n.div(spec.ceil_mode ? n.add(room, w.stride - 1) : room, w.stride);
  if (spec.ceil_mode) {
    const ValueId begins = n.less(n.mul(last, w.stride), n.add(extent, begin));
    last = b("where", {begins, last, n.add(last, -1)});
  }
  const ValueId out = ops::as(b, n.less(room, n(0)), DType::i64);
  return {b("gather", {b("unsqueeze", {n.add(last, 1), b.integers({0})}), out}), begin};
}

WindowIndices computed_indices(ir::Builder& b, const WindowSpec& spec, std::size_t axis,
                               ValueId extent) {
  const Int64Arithmetic n(b);
  const WindowAxis w = kernels::axis_of(spec, axis, 0, spec.kernel[axis]);
  const auto [positions, begin] = slide(b, spec, axis, extent);
  ir::Ints steps;
  for (std::int64_t k = 0; k < w.kernel; ++k) steps.push_back(k * w.dilation);
  const ValueId starts = n.sub(n.mul(n.below(positions), w.stride), begin);
  const ValueId at = n.add(b("unsqueeze", {starts, b.integers({1})}), b.integers(steps));
  const ValueId inside = b("and", {b("not", {n.less(at, n(0))}), n.less(at, extent)});
  const ValueId some = b("where", {inside, at, extent});
  const ValueId first = ops::reduce_kept(b, "reduce_min", some, {1});
  return {b("where", {n.less(first, extent), some, n.add(extent, 1)}), true};
}

WindowIndices window_indices(ir::Builder& b, const WindowSpec& spec, std::size_t axis, ValueId x) {
  const auto at = static_cast<std::int64_t>(axis) + 2;
  const ir::Extent extent = b.graph().value(x).type.has_rank() ? b.graph().value(x).type.extent(at)
                                                               : ir::Extent();
  if (extent.known()) return known_indices(b, spec, axis, extent.value);
  return computed_indices(b, spec, axis, b("gather", {b("shape", {x}), b.scalar(at)}));
}

/// The elements of each window along an axis: [..., positions, kernel, ...].
ValueId gathered(ir::Builder& b, ValueId x, const WindowIndices& u, std::int64_t axis,
                 const Tensor& padding, const Tensor& nothing) {
  for (const Tensor& value : {padding, nothing})
    if (u.padding) x = b("pad", {x, b.integers({0, 1}), b.constant(value), b.integers({axis})});
  return b("gather", {x, u.indices}, {{"axis", axis}});
}

/// The maxima, and the index in x of the first occurrence of each. A window that lies entirely in
/// padding has the maximum 0 and the index `nowhere`.
struct Maximum {
  ValueId value, index;
};

Maximum along(ir::Builder& b, const Maximum& x, const WindowSpec& spec, std::size_t axis) {
  const auto at = static_cast<std::int64_t>(axis) + 2;
  const DType t = ops::dtype_of(b, x.value);
  const Tensor lowest = t == DType::u64 ? Tensor::scalar<std::uint64_t>(0)
                                        : Tensor::scalar(std::numeric_limits<std::int64_t>::min());
  const WindowIndices u = window_indices(b, spec, axis, x.value);
  const ValueId kernel = b.integers({at + 1});
  const ValueId values = gathered(b, x.value, u, at, lowest, Tensor::zeros(t, {}));
  const auto reduce = [&](const char* op, ValueId v) {
    return b(op, {v, kernel}, {{"keepdims", std::int64_t{0}}});
  };
  Maximum y{reduce("reduce_max", values), ValueId::none};
  if (x.index == ValueId::none) return y;
  const Tensor none = Tensor::scalar(nowhere);
  const ValueId indices = gathered(b, x.index, u, at, none, none);
  const ValueId there = b("equal", {values, b("unsqueeze", {y.value, kernel})});
  y.index = reduce("reduce_min", b("where", {there, indices, b.constant(none)}));
  return y;
}

/// 0, 1, ..., count - 1 in the shape.
ValueId counted(ir::Builder& b, ValueId count, ValueId shape) {
  return b("reshape", {Int64Arithmetic(b).below(count), shape}, {{"allowzero", std::int64_t{1}}});
}

/// Indices in row-major or column-major order (attribute storage_order); -1 for windows without an
/// index.
ValueId to_storage_order(ir::Builder& b, ValueId index, ValueId x, std::size_t spatial,
                         bool column_major) {
  const ValueId none = b.scalar<std::int64_t>(-1);
  const ValueId there = b("less", {index, b.scalar(nowhere)});
  if (!column_major) return b("where", {there, index, none});
  ir::Ints perm(spatial + 2);
  std::iota(perm.begin(), perm.end(), 0);
  std::reverse(perm.begin() + 2, perm.end());
  const ValueId count = b("size", {x});
  const ValueId by_columns = counted(b, count, b("gather", {b("shape", {x}), b.integers(perm)}));
  const ValueId by_rows = b("transpose", {by_columns}, {{"perm", perm}});
  const ValueId list = b("reshape", {by_rows, b.integers({-1})});
  const ValueId table = b("concat", {list, b.integers({-1})}, {{"axis", std::int64_t{0}}});
  return b("gather", {table, b("where", {there, index, count})});
}

}  // namespace

Values max_pool_of_int64(ir::Builder& b, const ir::Node& n) {
  const ValueId x = n.inputs[0];
  const DType t = ops::dtype_of(b, x);
  if (t != DType::i64 && t != DType::u64) return {};
  const kernels::PoolSpec spec = ops::pool_spec(n.attributes);
  const bool indexed = ir::has_output(n, 1);
  Maximum y{x, indexed ? counted(b, b("size", {x}), b("shape", {x})) : ValueId::none};
  const std::size_t spatial = spec.window.kernel.size();
  for (std::size_t axis = 0; axis < spatial; ++axis) y = along(b, y, spec.window, axis);
  if (indexed) y.index = to_storage_order(b, y.index, x, spatial, spec.column_major);
  return {y.value, y.index};
}

}  // namespace rondel::exporters
