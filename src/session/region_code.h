#pragma once
#include "runtime/native_region.h"
#include "session/build_context.h"

namespace rondel::session {

/// Native code of a whole loop or `if`, by shape class, else by exact shapes. Empty where it never
/// is to be had.
runtime::NativeSource native_source(const BuildContext&, ir::NodeId);

/// How a loop or an `if` will run, in words, as far as the declared types of its inputs tell.
std::string how_it_runs(const ir::Graph&, ir::NodeId, const passes::LoweringOptions&);

}  // namespace rondel::session
