#include "ops/learned/old_trees.h"

namespace rondel::ops {

ir::Attributes old_tree_attributes(const std::string& prefix, ir::Attributes own) {
  for (const char* list :
       {"nodes_falsenodeids", "nodes_featureids", "nodes_missing_value_tracks_true",
        "nodes_nodeids", "nodes_treeids", "nodes_truenodeids"})
    own.set(list, ir::Ints{});
  for (const char* list : {"_ids", "_nodeids", "_treeids"}) own.set(prefix + list, ir::Ints{});
  for (const std::string& list : {std::string("base_values"), std::string("nodes_hitrates"),
                                  std::string("nodes_values"), prefix + "_weights"}) {
    own.set(list, ir::Floats{});
    own.set(list + "_as_tensor", Tensor::zeros(DType::f32, {0}));
  }
  own.set("nodes_modes", ir::Strings{});
  own.set("post_transform", "NONE");
  return own;
}

ir::ValueId scores_of(ir::Builder& b, const Ensemble& e, ir::ValueId x) {
  return b("tree_scores", {as(b, matrix_of(b, x), e.dtype)}, tree_scores_attributes(e));
}

}  // namespace rondel::ops
