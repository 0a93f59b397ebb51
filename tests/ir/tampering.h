#pragma once
#include "ir/graph.h"

namespace rondel::ir {

/// Breaks graphs, to test that the verifier finds the fault.
struct Tampering {
  Graph& g;

  void input(NodeId n, std::size_t k, ValueId v) const { g.node(n).inputs.items_[k] = v; }
  void result(RegionId r, std::size_t k, ValueId v) const { g.region(r).results.items_[k] = v; }
  void repeat_param(RegionId r) const {
    auto& params = g.region(r).params.items_;
    params.push_back(params[0]);
  }
  void drop_output(NodeId n) const { g.node(n).outputs.items_.pop_back(); }
  void give_region(NodeId n, RegionId r) const { g.node(n).regions.items_ = {r}; }
  /// Lists the node a second time, at the end of its region.
  void repeat(NodeId n) const { g.region(g.node(n).region).nodes.insert(-1, n); }
  void forget_uses(ValueId v) const { g.value(v).uses.items_.clear(); }
  void add_use(ValueId v, Use use) const { g.value(v).uses.items_.push_back(use); }
};

}  // namespace rondel::ir
