#pragma once
#include "ops/compose.h"

#include <functional>
#include <optional>
#include <span>
#include <vector>

/// Helpers for the gradients of ops.
namespace rondel::ops {

/// Nothing flows to the inputs: the op's results are constant around almost every point.
std::vector<ir::ValueId> nothing_flows(ir::Builder&, const ir::Node&,
                                       std::span<const ir::ValueId> adjoints);
/// Whether that is the gradient of an op.
bool stops_flow(const ir::OpDef&);
/// Of an op that gives the elements of input 0, in row-major order, another shape.
std::vector<ir::ValueId> reshaped_back(ir::Builder&, const ir::Node&,
                                       std::span<const ir::ValueId> adjoints);

/// Of max and min: inputs that equal the result share equally.
std::vector<ir::ValueId> shared_among_ties(ir::Builder&, const ir::Node&,
                                           std::span<const ir::ValueId> adjoints);

/// The adjoint of `x` from that of a tensor which `x` was broadcast to: its sum over the axes along
/// which `x` was repeated.
ir::ValueId summed_to(ir::Builder&, ir::ValueId adjoint, ir::ValueId x);
/// A tensor of zeros with the dtype and shape of `x`; of a sequence one of zeros for each of its
/// tensors; of an optional one that holds zeros where it holds something.
ir::ValueId zeros_like(ir::Builder&, ir::ValueId x);
/// The sum of two adjoints of one value: element by element, tensor by tensor of a sequence, and of
/// what optionals hold.
ir::ValueId sum_of_adjoints(ir::Builder&, ir::ValueId, ir::ValueId);
/// `x` with the shape of `like`, whose number of elements is the same.
ir::ValueId with_shape_of(ir::Builder&, ir::ValueId x, ir::ValueId like);

/// The extent of `x` along `axis`, i64[1]; a constant where it is known.
ir::ValueId extent_of(ir::Builder&, ir::ValueId x, std::int64_t axis);
/// Element `k` of a list of integers, i64[1]; a constant where the list is one.
ir::ValueId integer_at(ir::Builder&, ir::ValueId list, std::int64_t k);
/// The sum of two i64[1]; a constant where they are.
ir::ValueId sum_of_integers(ir::Builder&, ir::ValueId, ir::ValueId);
/// 0, 1, ... before `count`, which is i64[1].
ir::ValueId numbers_below(ir::Builder&, ir::ValueId count);
/// Input k as integers; nothing where it is left out or is no constant.
std::optional<ir::Ints> constant_integers(const ir::Builder&, const ir::Node&, std::size_t k);
/// `axis` of `x` counted from the end.
std::int64_t axis_from_end(const ir::Builder&, ir::ValueId x, std::int64_t axis);
/// The shape of `x` with another extent, i64[1], along `axis`, which is counted from the end.
ir::ValueId shape_with_extent(ir::Builder&, ir::ValueId x, std::int64_t axis, ir::ValueId extent);
/// The adjoint of `x` from that of its elements at the positions (i64[n]) along each of the axes,
/// which are counted from the end. Positions may repeat; negative ones count from the end.
ir::ValueId scattered_back(ir::Builder&, ir::ValueId adjoint, ir::ValueId x, const ir::Ints& axes,
                           std::span<const ir::ValueId> positions);
/// The same where `take` gives y, whose elements are elements of x, from x: it gives their
/// row-major positions from those of x. For any ranks and operands of the run.
ir::ValueId spread_by_positions(ir::Builder&, ir::ValueId adjoint, ir::ValueId x,
                                const std::function<ir::ValueId(ir::ValueId)>& take);

}  // namespace rondel::ops
