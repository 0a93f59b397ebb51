#pragma once
#include "ops/positions.h"

namespace rondel::ops {

/// Copies x into the output, where updates are then put, unless it is there.
void copy_to_output(Emitter&);
/// Puts `update` at an element of the output, by the attribute `reduction`.
void put_update(Emitter&, const Indices& at, Ex update);
/// Requires that `reduction` is one there is.
void require_reduction(const ir::TypeContext&);

}  // namespace rondel::ops
