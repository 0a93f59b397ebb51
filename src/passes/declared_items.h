#pragma once
#include "ir/graph.h"

#include <vector>

namespace rondel::passes {

/// The types of the items that loops stack, as far as they are known by numbers: a pass that makes
/// other nodes of those that compute them may leave less known. The shape of a stack without trips
/// follows from the model as it was written (docs/loops.md, rule 3).
class DeclaredItems {
 public:
  /// Before the pass.
  explicit DeclaredItems(const ir::Graph&);
  /// After it: declares what is no longer inferred.
  void declare_forgotten(ir::Graph&) const;

 private:
  struct Item {
    ir::NodeId loop;
    std::size_t stack;
    ir::Type type;
  };
  std::vector<Item> items_;
};

}  // namespace rondel::passes
