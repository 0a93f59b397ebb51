#pragma once
#include "ops/compose.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Helpers for the gradients of ops.
namespace rondel::ops {

/// The gradient of an op whose results are constant around almost every point: all adjoints are
/// zero.
std::vector<ir::ValueId> zero_gradient(ir::Builder&, const ir::Node&,
                                       std::span<const ir::ValueId> adjoints);
/// Whether the gradient rule of the op is `zero_gradient`.
bool stops_flow(const ir::OpDef&);
/// The gradient of an op that gives the elements of input 0, in row-major order, another shape.
std::vector<ir::ValueId> reshape_gradient(ir::Builder&, const ir::Node&,
                                          std::span<const ir::ValueId> adjoints);

/// The gradient of max and min: the inputs that equal the result get equal shares of the adjoint.
std::vector<ir::ValueId> shared_among_ties(ir::Builder&, const ir::Node&,
                                           std::span<const ir::ValueId> adjoints);

/// The adjoint of `x` from the adjoint of a tensor that `x` was broadcast to: the sum over the axes
/// along which `x` was repeated.
ir::ValueId summed_to(ir::Builder&, ir::ValueId adjoint, ir::ValueId x);
/// Zeros with the type of `x`. For a tensor: zeros of its shape. For a sequence: as many tensors of
/// zeros, of the same shapes. For an optional: zeros if it holds a value, else an empty optional.
ir::ValueId zeros_like(ir::Builder&, ir::ValueId x);
/// Zeros with the shape of the tensor `x`, to which many terms are added: f32 for f16 and bf16,
/// whose own sums would stop to grow.
ir::ValueId wide_zeros_like(ir::Builder&, ir::ValueId x);
/// The sum of two adjoints of one value. For sequences it is the sequence of the sums of their
/// tensors, for optionals the sum of the values that they hold. What is zero but at some positions
/// (`scatter_adjoint`) is added there only: a lookup in a loop costs what it reads, not the table.
ir::ValueId sum_of_adjoints(ir::Builder&, ir::ValueId, ir::ValueId);
/// `x` with the shape of `like`, which must have the same number of elements.
ir::ValueId with_shape_of(ir::Builder&, ir::ValueId x, ir::ValueId like);

/// Element `k` of a list of integers, i64[1]; a constant if the list is a constant.
ir::ValueId integer_at(ir::Builder&, ir::ValueId list, std::int64_t k);
/// The sum of two i64[1]; a constant if both are constants.
ir::ValueId sum_of_integers(ir::Builder&, ir::ValueId, ir::ValueId);
/// A list of integers that lists of one integer make; a constant if all of them are.
ir::ValueId joined_integers(ir::Builder&, std::span<const ir::ValueId>);
/// 0, 1, ..., count - 1. `count` is i64[1].
ir::ValueId iota(ir::Builder&, ir::ValueId count);
/// Input k as integers; nothing if it is not given or not a constant.
std::optional<ir::Ints> constant_integers(const ir::Builder&, const ir::Node&, std::size_t k);
/// `axis` of `x` counted from the end.
std::int64_t axis_from_end(const ir::Builder&, ir::ValueId x, std::int64_t axis);
/// The shape of `x` with `extent` (i64[1]) along `axis`, which is counted from the end.
ir::ValueId shape_with_extent(ir::Builder&, ir::ValueId x, std::int64_t axis, ir::ValueId extent);
/// The adjoint of `x` from the adjoint of the elements of `x` at `positions` (an i64[n] for each of
/// the `axes`). Axes are counted from the end. Positions may repeat, and negative positions count
/// from the end.
ir::ValueId scatter_adjoint(ir::Builder&, ir::ValueId adjoint, ir::ValueId x, const ir::Ints& axes,
                            std::span<const ir::ValueId> positions);
/// The adjoint of `x` from the adjoint of its elements at row-major `positions`, which may repeat.
ir::ValueId scatter_to_positions(ir::Builder&, ir::ValueId adjoint, ir::ValueId x,
                                 ir::ValueId positions);
/// The adjoint of `x` from the adjoint of `take(x)`, where `take` writes an op that only copies
/// elements of its argument. `take` is applied to the row-major positions of the elements of x,
/// which gives the position that each element of the result was copied from. Ranks may be unknown.
ir::ValueId scatter_by_positions(ir::Builder&, ir::ValueId adjoint, ir::ValueId x,
                                 const std::function<ir::ValueId(ir::ValueId)>& take);

}  // namespace rondel::ops
