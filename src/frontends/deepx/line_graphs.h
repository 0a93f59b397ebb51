// What lines compute, kept for lines that differ in names and numbers only.
#pragma once
#include "base/lru_cache.h"
#include "frontends/deepx/call.h"

namespace rondel::deepx {

/// A gradient that a line asks for.
struct WantedGradient {
  std::size_t input = 0, part = 0;  ///< of which tensor
  std::size_t target = 0;           ///< number of the tensor that it is added to
};

/// A line that computes, wholly looked up.
struct ComputingLine {
  const Instruction& row;
  const Statement& statement;
  const Operands& operands;
  std::size_t trips = 0;  ///< loops around
  /// Of a backward line: then `targets` tensors are written, in this order.
  std::vector<WantedGradient> gradients = {};
  std::size_t targets = 0;
};

/// The graphs of lines by everything that they follow from: the instruction, types, and integers
/// that decide about types. The number of those kept is bounded.
class LineGraphs {
 public:
  /// Its results are what the line writes, of the types of what is written. Throws Error(caller) at
  /// a place in the line, as it does for each line of its kind.
  std::shared_ptr<const LineGraph> of(const ComputingLine&, const Surroundings&);

 private:
  LruCache<LineGraph> kept_{1024};
};

}  // namespace rondel::deepx
