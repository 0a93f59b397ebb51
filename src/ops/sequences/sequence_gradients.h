#pragma once
#include "ops/compose.h"

#include <functional>

/// Helpers for the adjoints and residuals of sequences and optionals. The adjoint of a sequence is
/// the sequence of the adjoints of its tensors, in the same order.
namespace rondel::ops {

/// The sequence of f(builder, i) for i = 0, ..., length - 1. `length` is i64[], and `builder` is
/// the builder of a loop body. All tensors have the given dtype.
using Item = std::function<ir::ValueId(ir::Builder&, ir::ValueId i)>;
ir::ValueId sequence_of(ir::Builder&, ir::ValueId length, DType, const Item& f);
/// The tensor at `position` of `sequence`, which is the adjoint of a sequence that has `like` at
/// that position. If the shape of `like` is known, so is the shape of the result.
ir::ValueId adjoint_at(ir::Builder&, ir::ValueId sequence, ir::ValueId position, ir::ValueId like);
/// `position` in `sequence`, counted from the front, as i64[].
ir::ValueId position_from_front(ir::Builder&, ir::ValueId position, ir::ValueId sequence);

ir::ValueId empty_sequence(ir::Builder&, DType);
/// `list` with `length` tensors of the sequence `from` appended, beginning at position `first`.
ir::ValueId with_tensors_of(ir::Builder&, ir::ValueId list, ir::ValueId from, ir::ValueId first,
                            ir::ValueId length);
/// The value that an optional holds, as a sequence (of one tensor if the value is a tensor). The
/// sequence is empty if `held`, a bool, is false.
ir::ValueId tensors_held(ir::Builder&, ir::ValueId optional, ir::ValueId held);
/// The inverse of `tensors_held`: an optional of type `element`, which is a tensor or a sequence.
ir::ValueId optional_of(ir::Builder&, ir::ValueId tensors, ir::ValueId held,
                        const ir::Type& element);

}  // namespace rondel::ops
