#pragma once
#include "ir/infer.h"

#include <map>
#include <vector>

namespace rondel::passes {

/// What the types of all that goes into loops tell of the items that they stack, by numbers. A pass
/// that makes other nodes of those that compute items may leave less to infer: the shape of a stack
/// without trips follows from the model as it was written (docs/loops.md, rule 3).
class DeclaredItems {
 public:
  /// Before the pass.
  explicit DeclaredItems(const ir::Graph&);
  /// After it: declares what is no longer inferred.
  void declare_forgotten(ir::Graph&) const;

 private:
  std::map<ir::NodeId, std::vector<ir::Type>> items_;  ///< by loop
};

}  // namespace rondel::passes
