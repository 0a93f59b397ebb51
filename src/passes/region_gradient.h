#pragma once
#include "ir/builder.h"
#include "passes/influence.h"

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rondel::passes {

/// Differentiates what stands in one region, node by node in reverse; adjoints are appended to the
/// region by a builder. Loops and `if`s become loops and `if`s that compute anew, in regions of
/// their own, what their adjoints need.
class RegionGradient {
 public:
  /// `influence`: has been spread over the region, and knows the variables.
  RegionGradient(ir::Builder& b, const Influence& influence)
      : g_(b.graph()), b_(b), influence_(influence) {}

  /// Adds to the adjoint of a value that the region can read.
  void add(ir::ValueId, ir::ValueId adjoint);
  /// Differentiates all nodes that stand in the region now.
  void run();
  /// The adjoint of a value; none where nothing has been added to it.
  ir::ValueId adjoint(ir::ValueId);

 private:
  void differentiate(ir::NodeId);
  void differentiate_op(ir::NodeId, std::span<const ir::ValueId> adjoints);
  void differentiate_if(ir::NodeId, std::span<const ir::ValueId> adjoints);
  void differentiate_loop(ir::NodeId, std::span<const ir::ValueId> adjoints);
  /// The values from outside that the regions of a node read and that are influenced.
  std::vector<ir::ValueId> influenced_captures(ir::NodeId) const;

  std::vector<ir::ValueId> adjoints_of_inputs(ir::NodeId, std::span<const ir::ValueId> adjoints);
  [[noreturn]] void refuse(ir::NodeId) const;
  std::string path_to(ir::NodeId) const;
  ir::ValueId differentiated_output(ir::NodeId) const;
  ir::NodeId reader_of(ir::NodeId) const;

  ir::Graph& g_;
  ir::Builder& b_;
  const Influence& influence_;
  std::unordered_map<ir::ValueId, std::vector<ir::ValueId>> parts_;  ///< of adjoints
};

/// The adjoints of a loop from those of its finals and stacks (none: zeros), as a loop that makes
/// the trips in reverse. What the trips need of the forward loop becomes stacks of that loop.
struct LoopAdjoints {
  std::vector<ir::ValueId> inputs;                            ///< none: nothing flows there
  std::vector<std::pair<ir::ValueId, ir::ValueId>> captures;  ///< a value, its adjoint
};
LoopAdjoints loop_gradient(ir::Builder&, ir::NodeId, std::span<const ir::ValueId> adjoints,
                           const Influence&, std::span<const ir::ValueId> captures);

}  // namespace rondel::passes
