#pragma once
#include "ir/graph.h"

#include <vector>

namespace rondel::exporters {

/// The live values: the results of the root region depend on them.
class LiveValues {
 public:
  explicit LiveValues(const ir::Graph&);
  bool operator()(ir::ValueId v) const { return v != ir::ValueId::none && values_[ir::index(v)]; }
  /// Whether one of the node's outputs is live.
  bool operator()(const ir::Node&) const;

 private:
  void add(ir::ValueId);

  const ir::Graph& g_;
  std::vector<bool> values_;
};

}  // namespace rondel::exporters
