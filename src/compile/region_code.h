#pragma once
#include "compile/build_context.h"
#include "runtime/native_region.h"

namespace rondel::compile {

/// Native code of a whole loop or `if`, by shape class or else by exact shapes. Empty if native
/// code can never be made.
runtime::NativeSource native_source(const BuildContext&, ir::NodeId);

/// The programs of a loop or an `if` for inputs of the declared types.
struct DeclaredRegion {
  std::string how;  ///< how it will run, in words
  struct Lowered {
    std::shared_ptr<const scalar::Program> program;
    std::string when;             ///< "for a condition that is true"; empty: always
    lowering::Schedule schedule;  ///< if the options ask for it
  };
  std::vector<Lowered> programs;  ///< none: it runs step by step
};
DeclaredRegion lower_as_declared(const ir::Graph&, ir::NodeId, const lowering::LoweringOptions&);

/// How a loop or an `if` will run, in words, for inputs of the declared types.
std::string how_it_runs(const ir::Graph&, ir::NodeId, const lowering::LoweringOptions&);

}  // namespace rondel::compile
