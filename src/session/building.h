#pragma once
#include "ir/graph.h"
#include "session/tiered_compiler.h"

#include <memory>

namespace rondel::session {

/// The context of building a plan.
struct Building {
  std::shared_ptr<const ir::Graph> graph;
  std::shared_ptr<TieredCompiler> compiler;
  bool fuse = true;              ///< element-wise nodes share loops
  bool borrowed_kernels = true;  ///< false: references only
};

}  // namespace rondel::session
