#pragma once
#include "codegen/host.h"
#include "compile/build_context.h"

#include <string>

namespace rondel::compile {

/// How the programs of a compiled graph are laid out as loop nests, for inputs of the declared
/// types, and why: for each step of its plan the nests as lowering made them, and what the code
/// generator makes of their loops on this processor. `options`: as for the session's plan.
std::string schedule_text(std::shared_ptr<const ir::Graph>, lowering::LoweringOptions options,
                          const codegen::Host&);

/// The nests of one program, each line indented by `depth` levels.
std::string to_text(const lowering::Schedule&, const scalar::Program&, const codegen::Host&,
                    std::size_t depth = 0);

}  // namespace rondel::compile
