#pragma once
#include "compile/build_context.h"
#include "runtime/native_region.h"

namespace rondel::compile {

/// Native code of a whole loop or `if`, by shape class or else by exact shapes. Empty if native
/// code can never be made.
runtime::NativeSource native_source(const BuildContext&, ir::NodeId);

/// How a loop or an `if` will run, in words, for inputs of the declared types.
std::string how_it_runs(const ir::Graph&, ir::NodeId, const lowering::LoweringOptions&);

}  // namespace rondel::compile
