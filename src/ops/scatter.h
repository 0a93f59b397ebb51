#pragma once
#include "ir/op_def.h"
#include "ops/positions.h"

namespace rondel::ops {

/// Copies x to the output, which is then updated. Writes nothing where the output is already
/// written over x.
void copy_to_output(Emitter&);
/// Stores `update` to an element of the output, combined with it as the attribute `reduction` says.
void put_update(Emitter&, const Indices& at, Ex update);
/// Requires that the attribute `reduction` names a reduction.
void require_reduction(const ir::TypeContext&);
/// The gradient of a scatter, given the gather that reads the places it writes. Where updates were
/// stored the adjoint of x is zero; the factors of a product get the product of the others; of what
/// is compared, all that equal the result share equally.
ir::GradientRule scatter_gradient(std::string_view gather);

}  // namespace rondel::ops
