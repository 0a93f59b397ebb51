#pragma once
#include "ir/builder.h"

#include <string_view>

/// Python's arithmetic on numbers and NumPy's on arrays, as ops: which dtype comes out, what true
/// and floor division are, which way remainders go.
namespace rondel::mdf {

using ir::ValueId;

DType dtype_of(const ir::Builder&, ValueId);
std::int64_t rank_of(const ir::Builder&, ValueId);
/// Refuses a value whose extents are not known.
Shape shape_of(const ir::Builder&, ValueId);

ValueId cast(ir::Builder&, ValueId, DType);
/// A bool as an integer; others as they are.
ValueId as_number(ir::Builder&, ValueId);
/// f64; f32 stays.
ValueId as_float(ir::Builder&, ValueId);
/// x != 0; a bool as it is.
ValueId as_bool(ir::Builder&, ValueId);
/// Both in the dtype that holds both: bool, then i64, then f64. A lone constant does not widen f32.
std::pair<ValueId, ValueId> promoted(ir::Builder&, ValueId, ValueId);
/// The dtype of such a pair.
DType promoted(DType, DType);

/// + - * / // % ** @ & | ^
ValueId binary(ir::Builder&, std::string_view sign, ValueId, ValueId);
/// < > <= >= == !=
ValueId compare(ir::Builder&, std::string_view sign, ValueId, ValueId);
/// NumPy's arctan2 of floats of one dtype: the angle of the point (x, y), from -pi to pi.
ValueId angle(ir::Builder&, ValueId y, ValueId x);
/// NumPy's where: of the condition's truth.
ValueId choose(ir::Builder&, ValueId condition, ValueId then, ValueId otherwise);
/// Elements of one shape and dtype along a new first axis.
ValueId stacked(ir::Builder&, std::vector<ValueId>);
/// The value in this dtype, broadcast to this shape.
ValueId fitted(ir::Builder&, ValueId, DType, const Shape&);

}  // namespace rondel::mdf
