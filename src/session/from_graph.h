#pragma once
#include <rondel/session.h>

#include "ir/graph.h"
#include "session/front_ends.h"

namespace rondel::session {

/// A session from a graph that a front end made, with the graph's names of inputs and outputs.
struct FromGraph {
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&);
  /// And back: the graph as it was imported or built, or as it was compiled.
  static const ir::Graph& of(const Session&, bool compiled);
  static const ModelVersions& versions(const Session&);
};

}  // namespace rondel::session
