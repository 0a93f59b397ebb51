#pragma once
#include "ir/op_def.h"
#include "ops/positions.h"

namespace rondel::ops {

/// Copies x to the output before the updates. Writes no code if the output shares the buffer of x.
void copy_to_output(Emitter&);
/// Stores `update` to an element of the output. The attribute `reduction` says how it is combined
/// with the old value.
void put_update(Emitter&, const Indices& at, Ex update);
/// Requires that the attribute `reduction` names a reduction.
void require_reduction(const ir::TypeContext&);
/// The gradient of a scatter op. `gather` is the op that reads the positions that the scatter
/// writes. Without a reduction, the adjoint of x is zero at overwritten positions. With `mul`, each
/// factor gets the product of the other factors. With `min` and `max`, all operands that equal the
/// result get equal shares.
ir::GradientRule scatter_gradient(std::string_view gather);

}  // namespace rondel::ops
