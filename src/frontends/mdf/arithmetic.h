#pragma once
#include "ir/builder.h"

#include <optional>
#include <string_view>

/// The arithmetic of Python (numbers) and NumPy (arrays) as ops: dtype promotion, true and floor
/// division, and the sign of remainders.
namespace rondel::mdf {

using ir::ValueId;

DType dtype_of(const ir::Builder&, ValueId);
std::int64_t rank_of(const ir::Builder&, ValueId);
/// Throws Error(unsupported) for a value with dynamic extents.
Shape shape_of(const ir::Builder&, ValueId);

ValueId cast(ir::Builder&, ValueId, DType);
/// Converts a bool, or a narrow integer or float, to i64 or f64; i64, f64 and f32 stay.
ValueId as_number(ir::Builder&, ValueId);
/// Converts to f64; f32 stays.
ValueId as_float(ir::Builder&, ValueId);
/// x != 0; a bool stays.
ValueId as_bool(ir::Builder&, ValueId);
/// Converts both values to their common dtype: bool, then i64, then f64. A scalar constant does not
/// widen f32.
std::pair<ValueId, ValueId> promoted(ir::Builder&, ValueId, ValueId);
/// The common dtype of two dtypes.
DType promoted(DType, DType);

/// + - * / // % ** @ & | ^
ValueId binary(ir::Builder&, std::string_view sign, ValueId, ValueId);
/// < > <= >= == !=
ValueId compare(ir::Builder&, std::string_view sign, ValueId, ValueId);
/// NumPy's arctan2, for floats of the same dtype: the angle of the point (x, y), from -pi to pi.
ValueId arctan2(ir::Builder&, ValueId y, ValueId x);
/// NumPy's where: selects by the truth value of the condition.
ValueId choose(ir::Builder&, ValueId condition, ValueId then, ValueId otherwise);
/// Stacks values of the same shape along a new first axis, in their common dtype.
ValueId stacked(ir::Builder&, std::vector<ValueId>);
/// The number of elements that become one in a reduction of all (no axis) or along an axis; none if
/// only a run tells, or if there is no such axis.
std::optional<std::int64_t> reduced_elements(const ir::Builder&, ValueId,
                                             std::optional<std::int64_t> axis);
/// NaN in the place of what floats of `count` elements were reduced to, if there are none.
ValueId nan_of_nothing(ir::Builder&, ValueId reduced, std::optional<std::int64_t> count);
/// Casts a value to a dtype and broadcasts it to a shape.
ValueId fitted(ir::Builder&, ValueId, DType, const Shape&);

}  // namespace rondel::mdf
