#pragma once
#include "gradients/influence.h"
#include "ir/builder.h"

#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace rondel::gradients {

/// Differentiates the nodes of one region in reverse order; a builder inserts the adjoints in the
/// same region. The adjoint of a loop or an `if` is a loop or an `if` whose regions recompute the
/// values that the adjoints need.
class RegionGradient {
 public:
  /// `influence`: has the variables and has been spread over the region.
  RegionGradient(ir::Builder& b, const Influence& influence)
      : g_(b.graph()), b_(b), influence_(influence) {}

  /// Adds a term to the adjoint of a value that the region can read.
  void add(ir::ValueId, ir::ValueId adjoint);
  /// Differentiates all nodes that are in the region now.
  void run();
  /// The adjoint of a value; none if it has no terms.
  ir::ValueId adjoint(ir::ValueId);

 private:
  void differentiate(ir::NodeId);
  void differentiate_op(ir::NodeId, std::span<const ir::ValueId> adjoints);
  void differentiate_if(ir::NodeId, std::span<const ir::ValueId> adjoints);
  void differentiate_loop(ir::NodeId, std::span<const ir::ValueId> adjoints);
  /// The influenced values from outside that the regions of a node read.
  std::vector<ir::ValueId> influenced_captures(ir::NodeId) const;

  std::vector<ir::ValueId> adjoints_of_inputs(ir::NodeId, std::span<const ir::ValueId> adjoints);
  [[noreturn]] void refuse(ir::NodeId) const;
  std::string path_to(ir::NodeId) const;
  ir::ValueId differentiated_output(ir::NodeId) const;
  ir::NodeId reader_of(ir::NodeId) const;

  ir::Graph& g_;
  ir::Builder& b_;
  const Influence& influence_;
  std::unordered_map<ir::ValueId, std::vector<ir::ValueId>> terms_;  ///< of adjoints, by value
};

/// The adjoints of a loop's inputs and captures.
struct LoopAdjoints {
  std::vector<ir::ValueId> inputs;                            ///< none: no gradient flows there
  std::vector<std::pair<ir::ValueId, ir::ValueId>> captures;  ///< a value, its adjoint
};
/// Computes the adjoints of a loop from those of its final states and stacks (none: zeros), with a
/// reverse loop that makes the trips backwards. The values of the forward loop that the reverse
/// loop needs become stacks of the forward loop, or lists if their shapes change. `captures`: the
/// captures whose adjoints are computed.
LoopAdjoints loop_gradient(ir::Builder&, ir::NodeId, std::span<const ir::ValueId> adjoints,
                           const Influence&, std::span<const ir::ValueId> captures);

}  // namespace rondel::gradients
