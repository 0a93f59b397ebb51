#pragma once
#include "base/axis.h"
#include "base/error.h"
#include "ops/meaning.h"

/// Helpers for the meanings of composites.
namespace rondel::ops {

inline DType dtype_of(const ir::Builder& b, ir::ValueId v) {
  return b.graph().value(v).type.dtype();
}
/// `x` converted to dtype `t`; `x` itself if it already has that dtype.
inline ir::ValueId as(ir::Builder& b, ir::ValueId x, DType t) {
  return dtype_of(b, x) == t ? x : b("convert", {x}, {{"to", ir::Type::scalar(t)}});
}
/// f16 and bf16 converted to f32; other dtypes unchanged. A formula of several ops is computed in
/// this dtype, and the result is rounded once at the end.
inline ir::ValueId wide_value(ir::Builder& b, ir::ValueId x) {
  return as(b, x, scalar::compute_type(dtype_of(b, x)));
}
/// A reduction that keeps the reduced axes, with extent 1.
inline ir::ValueId reduce_kept(ir::Builder& b, std::string_view op, ir::ValueId x,
                               const ir::Ints& axes) {
  return b(op, {x, b.integers(axes)}, {{"keepdims", 1}});
}
/// The extent of `x` along `axis`, i64[1]; a constant if it is known.
inline ir::ValueId extent_of(ir::Builder& b, ir::ValueId x, std::int64_t axis) {
  const ir::Type type = b.graph().value(x).type;
  if (type.has_rank()) {
    const ir::Extent& extent = type.extent(axis_from_front(axis, type.rank()));
    if (extent.known()) return b.integers({extent.value});
  }
  ir::Attributes range{{"start", axis}};
  if (axis != -1) range.set("end", axis + 1);
  return b("shape", {x}, std::move(range));
}
/// Asserts in the run that `holds`, a bool; all of its elements must be true.
inline void require_in_run(ir::Builder& b, ir::ValueId holds, std::string message) {
  b.add("assertion", {holds}, {{"message", std::move(message)}}, 0);
}
/// Asserts the rank of `x`, if only the run knows it: the type rule of the op has checked what it
/// knows.
inline void require_rank_in_run(ir::Builder& b, ir::ValueId x, std::int64_t wanted,
                                std::string message) {
  if (b.graph().value(x).type.has_rank()) return;
  const ir::ValueId rank = b("size", {b("shape", {x})});
  require_in_run(b, b("equal", {rank, b.scalar(wanted)}), std::move(message));
}
/// The same for the extent of `x` along `axis`.
inline void require_extent(ir::Builder& b, ir::ValueId x, std::int64_t axis, std::int64_t wanted,
                           std::string message) {
  const ir::Type& t = b.graph().value(x).type;
  if (t.has_rank() && t.extent(axis_from_front(axis, t.rank())).known()) return;
  require_in_run(b, b("equal", {extent_of(b, x, axis), b.integers({wanted})}), std::move(message));
}
/// `x`, whose extent along `axis` must be that of `other` along `other_axis`. The type rule of the
/// op has checked what it knows. Errors call the two by `names`.
inline ir::ValueId with_extent_of(ir::Builder& b, ir::ValueId x, std::int64_t axis,
                                  ir::ValueId other, std::int64_t other_axis, ir::Strings names) {
  const ir::Type &type = b.graph().value(x).type, &like = b.graph().value(other).type;
  if (type.has_rank() && like.has_rank() && type.extent(axis).known() &&
      like.extent(other_axis).known())
    return x;
  return b("same_extent", {x, other},
           {{"axes", ir::Ints{axis, other_axis}}, {"names", std::move(names)}});
}
/// `y` in the shape of `x`: an operand that is broadcast to x may not make the result larger.
inline ir::ValueId in_shape_of(ir::Builder& b, ir::ValueId y, ir::ValueId x) {
  const ir::Type type = b.graph().value(y).type, like = b.graph().value(x).type;
  if (!type.has_rank() || !like.has_rank())
    return b("reshape", {y, b("shape", {x})}, {{"allowzero", 1}});
  for (std::int64_t axis = 0; axis < like.rank(); ++axis)
    if (!(type.extent(axis) == like.extent(axis)))
      y = with_extent_of(b, y, axis, x, axis, {"the result", "the operand that tells its shape"});
  return y;
}
/// x less its greatest element along the axes, so that exp does not overflow. What is computed from
/// the differences may not change if all elements grow alike: then the gradient by the greatest
/// element is zero, and is not computed.
inline ir::ValueId less_greatest(ir::Builder& b, ir::ValueId x, const ir::Ints& axes) {
  return b("sub", {x, b("stop_gradient", {reduce_kept(b, "reduce_max", x, axes)})});
}
/// The axes from `axis` to the last, counted from the end.
inline ir::Ints trailing_axes(const ir::Type& x, std::int64_t axis) {
  if (axis >= 0) {
    if (!x.has_rank()) unsupported("axis {} of a tensor of unknown rank; a negative one?", axis);
    axis -= x.rank();
  }
  ir::Ints axes;
  for (; axis < 0; ++axis) axes.push_back(axis);
  return axes;
}

}  // namespace rondel::ops
