#pragma once
#include "ir/extent.h"
#include "scalar/builder.h"

#include <functional>

namespace rondel::lowering {

/// The program's value of a symbol in the extents of a shape class; an empty Ex if the program has
/// none.
using ExOfName = std::function<scalar::Ex(ir::Symbol)>;

/// The names in an integer; none if it is a number or unknown.
std::span<const ir::Symbol> names_in(const ir::Integer&);

/// Whether an integer is a number or an expression over symbols that the program has.
bool can_express(const ir::Integer&, const std::function<bool(ir::Symbol)>& has);

/// Emits the computation of an extent, or of an integer computed from extents, in i64, at the
/// builder's position. The caller emits it before the loops that use it. Every symbol of the
/// integer must have an Ex. The result equals that of `ir::evaluate` if `ir::evaluate` has one. The
/// code that prepares a run checks with `ir::evaluate` that all extents are valid.
scalar::Ex extent_expression(scalar::Builder&, const ir::Integer&, const ExOfName&);

}  // namespace rondel::lowering
