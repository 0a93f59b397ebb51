#pragma once
#include "ir/graph.h"

#include <unordered_set>

namespace rondel::gradients {

/// Whether a value has floats: only floats have adjoints.
bool has_adjoint(const ir::Graph&, ir::ValueId);

/// Forward activity analysis: the values that depend on some variables through floats.
class Influence {
 public:
  explicit Influence(const ir::Graph& g) : g_(g) {}

  /// Declares `v` a variable, even if a node computes it.
  void add(ir::ValueId v) {
    variables_.insert(v);
    influenced_.insert(v);
  }
  /// Finds the influenced values of the region and of all regions nested in it.
  void spread(ir::RegionId);
  bool contains(ir::ValueId v) const { return influenced_.contains(v); }
  bool is_variable(ir::ValueId v) const { return variables_.contains(v); }

 private:
  void spread_node(ir::NodeId);
  void spread_loop(ir::NodeId);
  /// Returns whether `to` has become influenced.
  bool pass_on(ir::ValueId from, ir::ValueId to);

  const ir::Graph& g_;
  std::unordered_set<ir::ValueId> variables_, influenced_;
};

}  // namespace rondel::gradients
