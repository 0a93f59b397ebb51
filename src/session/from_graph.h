#pragma once
#include <rondel/session.h>

#include "compile/tiered_compiler.h"
#include "ir/graph.h"
#include "runtime/memory.h"
#include "session/front_ends.h"

#include <memory>
#include <span>
#include <vector>

namespace rondel::session {

/// Resources that several sessions may share: the memory budget, the pool of blocks, and the code
/// of equal programs.
struct SharedResources {
  runtime::Memory memory;
  std::shared_ptr<compile::TieredCompiler> compiler;
};
/// New resources for these options.
SharedResources resources_for(const SessionOptions&);

/// Access to the graphs of sessions. `make` makes a session from a front end's graph, with the
/// graph's input and output names.
struct FromGraph {
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&);
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&,
                      const SharedResources&);
  /// The graph of a session as it was imported or built, or as it was compiled.
  static const ir::Graph& of(const Session&, bool compiled);
  static const ModelVersions& versions(const Session&);
  /// Runs a session: `inputs` in order, of the graph's types; returns all outputs in order.
  static std::vector<Value> run(const Session&, std::vector<Value> inputs, const RunOptions&);
};

}  // namespace rondel::session
