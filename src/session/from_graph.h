#pragma once
#include <rondel/session.h>

#include "ir/graph.h"
#include "runtime/memory.h"
#include "session/front_ends.h"
#include "session/tiered_compiler.h"

#include <memory>
#include <span>
#include <vector>

namespace rondel::session {

/// What sessions may have in common: one budget, one pool of blocks, and code of equal programs.
struct SharedResources {
  runtime::Memory memory;
  std::shared_ptr<TieredCompiler> compiler;
};
/// Those that these options ask for.
SharedResources resources_for(const SessionOptions&);

/// A session from a graph that a front end made, with the graph's names of inputs and outputs.
struct FromGraph {
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&);
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&,
                      const SharedResources&);
  /// And back: the graph as it was imported or built, or as it was compiled.
  static const ir::Graph& of(const Session&, bool compiled);
  static const ModelVersions& versions(const Session&);
  /// All outputs, in order, from the inputs in order, which are of the graph's types.
  static std::vector<Value> run(const Session&, std::vector<Value> inputs, const RunOptions&);
};

}  // namespace rondel::session
