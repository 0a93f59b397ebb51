#pragma once
#include "ir/graph.h"
#include "passes/shape_class.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::passes {

/// The types of a group's results for all members of a shape class, as expressions over its
/// extents. Shapes that change from step to step are computed from them, because inferring them
/// again would take as long as a small step. Immutable and thread-safe.
class OutputExtents {
 public:
  struct Output {
    DType dtype;
    std::vector<ir::Integer> extents;
  };
  /// A symbol of the class, and the input axis that has its value.
  struct Source {
    ir::Symbol name;
    std::size_t input, axis;
  };

  OutputExtents(std::vector<Output> outputs, ir::Integers conditions, std::vector<Source> sources)
      : outputs_(std::move(outputs)), conditions_(std::move(conditions)),
        sources_(std::move(sources)) {}

  /// For inputs that are in the class. `shapes` gets one shape for each result. False where the
  /// ops' rules must be applied: they may refuse these extents, with a reason.
  bool evaluate(std::span<const Value> inputs, std::vector<std::pair<DType, Shape>>& shapes) const;

 private:
  std::vector<Output> outputs_;
  ir::Integers conditions_;  ///< none of which is negative where the rules hold
  std::vector<Source> sources_;
};

/// Nothing where a result is not an expression over extents of the class, or where a rule may
/// refuse some members of the class for a reason that conditions do not cover: then types are
/// inferred for each member.
std::optional<OutputExtents> output_extents(const ir::Graph& group, const ShapeClass&);

}  // namespace rondel::passes
