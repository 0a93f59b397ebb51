// A cache of the graphs of lines. Lines that differ only in names and numbers share a graph.
#pragma once
#include "base/lru_cache.h"
#include "frontends/deepx/call.h"

namespace rondel::deepx {

/// A gradient that a backward line computes.
struct WantedGradient {
  std::size_t input = 0, part = 0;  ///< the tensor: part `part` of operand `input`
  std::size_t target = 0;           ///< the index of the gradient tensor it is added to
};

/// A line that computes a value, with its operands resolved.
struct ComputingLine {
  const Instruction& row;
  const Statement& statement;
  const Operands& operands;
  std::size_t trips = 0;  ///< the number of enclosing loops
  /// For a backward line, which writes `targets` gradient tensors, in this order.
  std::vector<WantedGradient> gradients = {};
  std::size_t targets = 0;
};

/// A bounded cache of line graphs. The key is everything that a graph depends on: the instruction,
/// the types, and the integers that determine types.
class LineGraphs {
 public:
  /// The graph of a line. Its results are the values that the line writes, in the types of the
  /// written tensors. Throws Error(caller) with a position in the line; errors are not cached.
  std::shared_ptr<const LineGraph> of(const ComputingLine&, const Surroundings&);

 private:
  LruCache<LineGraph> kept_{1024};
};

}  // namespace rondel::deepx
