#pragma once
#include "ir/graph.h"

#include <unordered_set>

namespace rondel::passes {

/// Whether a value is of floats, which alone have adjoints.
bool has_adjoint(const ir::Graph&, ir::ValueId);

/// The values of a graph that some variables have influence on, as far as floats carry it.
class Influence {
 public:
  explicit Influence(const ir::Graph& g) : g_(g) {}

  /// `v` is a variable, whatever makes it.
  void add(ir::ValueId v) {
    variables_.insert(v);
    influenced_.insert(v);
  }
  /// Finds what is influenced in the region, and in those below it.
  void spread(ir::RegionId);
  bool contains(ir::ValueId v) const { return influenced_.contains(v); }
  bool is_variable(ir::ValueId v) const { return variables_.contains(v); }

 private:
  void spread_node(ir::NodeId);
  void spread_loop(ir::NodeId);
  /// True where that is new.
  bool pass_on(ir::ValueId from, ir::ValueId to);

  const ir::Graph& g_;
  std::unordered_set<ir::ValueId> variables_, influenced_;
};

}  // namespace rondel::passes
