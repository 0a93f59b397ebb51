#pragma once
#include "ir/graph.h"

#include <unordered_map>

namespace rondel::ir {

/// Copies nodes with all they have in their regions, into the graph they are from or another.
class Cloning {
 public:
  /// What stands for a value that is neither copied nor mapped: by default itself, which is right
  /// within one graph.
  using Capture = std::function<ValueId(ValueId)>;
  Cloning(const Graph& from, Graph& to, Capture capture = {})
      : from_(from), to_(to), capture_(std::move(capture)) {}

  /// From now on `copy` stands for `original`.
  void map(ValueId original, ValueId copy) { copies_[original] = copy; }
  /// What stands for a value; none for none.
  ValueId operator()(ValueId original);
  /// Copies one node before `before` of `into` (none: last), its regions with it.
  NodeId node(NodeId original, RegionId into, NodeId before = NodeId::none);
  /// A copy of a region, which belongs to no node yet: parameters, nodes and results.
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

/// A copy of a region with what is nested in it, which belongs to no node yet. What it captures is
/// mapped by `capture`.
RegionId clone_region(const Graph& from, RegionId, Graph& to, Cloning::Capture capture = {});

}  // namespace rondel::ir
