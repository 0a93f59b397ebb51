#pragma once
#include "ir/type_environment.h"

namespace rondel::ir {

/// Evaluates a pure node whose inputs are all known and small. `src/compile` provides the evaluator
/// (`make_evaluator`).
using Evaluator =
    std::function<std::vector<Value>(const Graph&, NodeId, std::span<const Tensor* const> inputs)>;

/// Infers the types of all values in `r` and nested regions, in order, from the types of the
/// parameters and captures of `r` in `k`. The types of a loop's states are widened until they hold
/// for the initial and the next value (docs/loops.md, rule 1); the types of an if's results are
/// joined. Checks everything that can be checked before running: every op's rule, dtypes of states,
/// tensor items, axes within rank, arities. With an evaluator, small values that depend only on
/// known values (shape arithmetic) are computed as well. Errors name the node, its op and the types
/// of its inputs. With `keeps_broken_nodes`, a node inside of a loop or branch is not checked.
void infer_region(const Graph&, RegionId r, TypeEnvironment& k, const Evaluator& = nullptr);

/// The same for one node, whose own rule must hold, and its regions.
void infer_node(const Graph&, NodeId, TypeEnvironment& k, const Evaluator& = nullptr);

/// The same for a node whose own rule need not hold, with `keeps_broken_nodes`.
void infer_kept_node(const Graph&, NodeId, TypeEnvironment& k);

/// Infers the types of a node's results from types that are known already: `k` has the types of the
/// node's inputs and of its regions' parameters and results. False if the next value of a loop's
/// state does not have the type of the state; the body must then be inferred again.
bool infer_from_regions(const Graph&, NodeId, TypeEnvironment& k);

/// `infer_region` for the whole graph; writes the types into the graph's values.
void infer_types(Graph&, const Evaluator& = nullptr);

/// Whether a node's rule holds for the graph's types. A node of a loop or branch may stay although
/// its rule does not (`Graph::may_hold_broken_nodes`); what would replace such a node leaves it.
bool rule_holds(const Graph&, NodeId);
/// The same of several, of which each may read the ones before: with the types that these give now.
bool rules_hold(const Graph&, std::span<const NodeId>);

/// Whether a node can fail at run time, as far as the graph's types and constants tell. A node with
/// regions always can.
bool can_fail(const Graph&, NodeId);

/// "node 'cell/add' (Add)": how errors and dumps name a node.
std::string where(const Graph&, NodeId);

}  // namespace rondel::ir
