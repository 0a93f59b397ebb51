#pragma once
#include "ir/graph.h"

#include <unordered_map>

namespace rondel::ir {

/// Copies nodes with their regions, within a graph or to another graph.
class Cloner {
 public:
  /// Gives the replacement for a value that is neither copied nor mapped. Default: the value
  /// itself, which is right within one graph.
  using Capture = std::function<ValueId(ValueId)>;
  Cloner(const Graph& from, Graph& to, Capture capture = {})
      : from_(from), to_(to), capture_(std::move(capture)) {}

  /// Maps `original` to `copy` from now on.
  void map(ValueId original, ValueId copy) { copies_[original] = copy; }
  /// The value that `original` is mapped to; none for none.
  ValueId operator()(ValueId original);
  /// Copies a node with its regions into `into`, before the node `before` (none: at the end).
  NodeId node(NodeId original, RegionId into, NodeId before = NodeId::none);
  /// Copies a region: parameters, nodes and results. The copy belongs to no node yet.
  RegionId region(RegionId original);

 private:
  void fill(RegionId original, RegionId copy);
  void fill_regions();
  NodeId shell(NodeId original, RegionId into, NodeId before);

  const Graph& from_;
  Graph& to_;
  Capture capture_;
  std::unordered_map<ValueId, ValueId> copies_;
  std::vector<std::pair<RegionId, RegionId>> unfilled_;
};

/// Copies a region with everything nested in it. The copy belongs to no node yet. Captures are
/// mapped by `capture`.
RegionId clone_region(const Graph& from, RegionId, Graph& to, Cloner::Capture capture = {});

}  // namespace rondel::ir
