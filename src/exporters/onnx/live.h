#pragma once
#include "ir/graph.h"

#include <vector>

namespace rondel::exporters {

/// The values that anybody needs for the results of the root.
class Live {
 public:
  explicit Live(const ir::Graph&);
  bool operator()(ir::ValueId v) const { return v != ir::ValueId::none && values_[ir::index(v)]; }
  /// Whether one of its outputs is.
  bool operator()(const ir::Node&) const;

 private:
  void add(ir::ValueId);

  const ir::Graph& g_;
  std::vector<bool> values_;
};

}  // namespace rondel::exporters
