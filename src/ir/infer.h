#pragma once
#include "ir/graph.h"

#include <unordered_map>

namespace rondel::ir {

/// What is known of a graph's values, apart from the graph: so that one graph can be looked at
/// for many shape classes.
struct Knowledge {
  std::vector<Type> types;                          ///< by ValueId
  std::unordered_map<std::int32_t, Tensor> values;  ///< by ValueId: values known in advance
  const Tensor* value(ValueId v) const {
    auto it = values.find(static_cast<std::int32_t>(v));
    return it == values.end() ? nullptr : &it->second;
  }
};

/// What the graph itself says: the types in it, and its constants.
Knowledge knowledge_of(const Graph&);

/// Output types of one node (not of `loop` or `if`), by its op's rule. Errors are completed with the node's source, op and
/// the types of its inputs.
std::vector<Type> infer_node(const Graph&, NodeId, const Knowledge&);

/// Types of everything in `r` and below, in order, from the types of its parameters and captures
/// in `k`. A loop's states are widened until their types hold for the initial and the next value
/// (loops.md rule 1); an if's results are joined. Checks what loops.md asks to be checked when a
/// model is loaded: dtypes of states, tensor items, axes within rank, counts.
void infer_region(const Graph&, RegionId r, Knowledge& k);

/// The same for the whole graph, written into its values.
void infer_types(Graph&);

/// Values of small integer nodes (shape arithmetic) that can be had without running the model are
/// put into `k.values` by this, when set: the session sets it to an evaluator of pure nodes.
using Evaluator = std::function<std::vector<Tensor>(const Graph&, NodeId,
                                                    std::span<const Tensor* const> inputs)>;
void infer_region(const Graph&, RegionId r, Knowledge& k, const Evaluator&);

/// "node 'cell/add' (Add)": how errors and dumps name a node.
std::string where(const Graph&, NodeId);

}  // namespace rondel::ir
