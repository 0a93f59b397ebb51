#pragma once
#include "ir/graph.h"
#include "ops/op_test.h"
#include "session/tiered_compiler.h"

/// A case as a graph of one node, and graphs as they run.
namespace rondel::test {

/// How much of its inputs' types a graph is told.
enum class Told { all, ranks, nothing };

struct Asked {
  ir::Graph graph;  ///< inputs x0, x1, ... and outputs y0, y1, ...
  std::vector<Value> feeds;
};

/// Where all is told, values that a model would hold as constants (shapes, axes) are constants.
Asked asked(const OpCase&, std::size_t outputs, Told);

/// The graph after the passes, as it is compiled.
ir::Graph compiled(ir::Graph);

/// Runs the passes and the graph.
std::vector<Value> run_graph(ir::Graph, const std::vector<Value>& feeds, session::Execution);

/// Equal bits; NaNs of 16 bits and up count as equal, since 0/0 has another sign when it is folded
/// than when it runs.
bool same_bits(const Tensor&, const Tensor&);

}  // namespace rondel::test
