#pragma once
#include "ir/extent.h"
#include "scalar/builder.h"

#include <functional>

namespace rondel::passes {

/// The program's value of a symbol in the extents of a shape class; an empty Ex for none.
using ExOfName = std::function<scalar::Ex(ir::Symbol)>;

/// Whether it is a number, or an expression over symbols that the program has.
bool can_express(const ir::Integer&, const std::function<bool(ir::Symbol)>& has);

/// An extent, or an integer computed from extents, as the program computes it in i64. Every name in
/// it must have an Ex. Written where the builder stands: before the loops that use it, by choice of
/// who asks. The numbers are those of `ir::evaluate` where that gives one; whoever prepares a run
/// checks with it that all extents are there.
scalar::Ex extent_expression(scalar::Builder&, const ir::Integer&, const ExOfName&);

}  // namespace rondel::passes
