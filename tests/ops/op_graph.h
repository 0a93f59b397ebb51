#pragma once
#include "compile/tiered_compiler.h"
#include "ir/graph.h"
#include "ops/op_test.h"

/// Builds the graph of a test case, which has one node, and runs graphs.
namespace rondel::test {

/// How much is known of the input types of a graph: exact types, ranks only, or dtypes only.
enum class KnownTypes { all, ranks, nothing };

struct OpGraph {
  ir::Graph graph;  ///< inputs x0, x1, ... and outputs y0, y1, ...
  std::vector<Value> feeds;
};

/// The graph of a case. With exact types, the values of `value_inputs` (shapes, axes) are
/// constants.
OpGraph op_graph(const OpCase&, std::size_t outputs, KnownTypes);

/// Runs the passes and the graph.
std::vector<Value> run_graph(ir::Graph, const std::vector<Value>& feeds, compile::Execution,
                             bool check_mode = false, int threads = 1);

/// Whether two tensors have the same dtype, shape and bits. All NaNs of at least 16 bits count as
/// equal, because the sign of 0/0 differs between constant folding and execution.
bool same_bits(const Tensor&, const Tensor&);

}  // namespace rondel::test
