#pragma once
#include "ops/compose.h"

#include <functional>

/// Helpers for the adjoints of sequences, and for what gradients keep of them. The adjoint of a
/// sequence is a sequence of the adjoints of its tensors, in their order.
namespace rondel::ops {

/// The sequence of f(builder, i) for the numbers i below `length`, i64[]; the builder is that of a
/// loop's body. All tensors have this dtype.
using Item = std::function<ir::ValueId(ir::Builder&, ir::ValueId i)>;
ir::ValueId sequence_of(ir::Builder&, ir::ValueId length, DType, const Item& f);
/// The tensor at a position of the adjoint of a sequence, where `like` stood in the sequence: where
/// its shape is known, so is the adjoint's.
ir::ValueId adjoint_at(ir::Builder&, ir::ValueId sequence, ir::ValueId position, ir::ValueId like);
/// A position in a sequence, counted from the front.
ir::ValueId position_from_front(ir::Builder&, ir::ValueId position, ir::ValueId sequence);

ir::ValueId empty_sequence(ir::Builder&, DType);
/// `list` with `length` tensors of `from` behind its own, those from position `first` on.
ir::ValueId with_tensors_of(ir::Builder&, ir::ValueId list, ir::ValueId from, ir::ValueId first,
                            ir::ValueId length);
/// What an optional holds, as a sequence; an empty one where `held` is false.
ir::ValueId tensors_held(ir::Builder&, ir::ValueId optional, ir::ValueId held);
/// The inverse: an optional of a tensor or a sequence, as `element` is.
ir::ValueId optional_of(ir::Builder&, ir::ValueId tensors, ir::ValueId held,
                        const ir::Type& element);

}  // namespace rondel::ops
