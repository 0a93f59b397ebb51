#pragma once
#include "ops/positions.h"

namespace rondel::ops {

/// Copies x to the output, which is then updated. Writes nothing where the output is already
/// written over x.
void copy_to_output(Emitter&);
/// Stores `update` to an element of the output, combined with it as the attribute `reduction` says.
void put_update(Emitter&, const Indices& at, Ex update);
/// Requires that the attribute `reduction` names a reduction.
void require_reduction(const ir::TypeContext&);
/// For gradients: whether updates are added rather than stored; other reductions are unsupported.
bool adds_updates(const ir::Node&);

}  // namespace rondel::ops
