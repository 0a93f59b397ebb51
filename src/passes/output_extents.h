#pragma once
#include "ir/graph.h"
#include "passes/shape_class.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace rondel::passes {

/// The types of a group's results for all members of a shape class, as expressions over its
/// extents: so that shapes that change from step to step are computed, where inferring them anew
/// would take as long as a small step. Immutable; any number of threads may ask it.
class OutputExtents {
 public:
  struct Output {
    DType dtype;
    std::vector<ir::Integer> extents;
  };
  /// A name of the class, and where inputs have its value.
  struct Source {
    ir::Symbol name;
    std::size_t input, axis;
  };

  OutputExtents(std::vector<Output> outputs, ir::Integers conditions, std::vector<Source> sources)
      : outputs_(std::move(outputs)), conditions_(std::move(conditions)),
        sources_(std::move(sources)) {}

  /// Of inputs that are in the class. `shapes` gets one shape a result. False where the ops' rules
  /// have to be asked: they may refuse these extents, and then say why.
  bool evaluate(std::span<const Value> inputs, std::vector<std::pair<DType, Shape>>& shapes) const;

 private:
  std::vector<Output> outputs_;
  ir::Integers conditions_;  ///< none of which is negative where the rules hold
  std::vector<Source> sources_;
};

/// Nothing where a result is not an expression over extents of the class, and where a rule may
/// refuse some members of it for what conditions do not say: then types are inferred for each.
std::optional<OutputExtents> output_extents(const ir::Graph& group, const ShapeClass&);

}  // namespace rondel::passes
