#pragma once
#include "ir/graph.h"

#include <optional>
#include <unordered_map>

namespace rondel::ir {

/// Types by ValueId: of all values of a graph, or of a few of them.
class Types {
 public:
  enum class Of { all, few };
  explicit Types(Of of = Of::all) : of_(of) {}
  Type& operator[](std::size_t v) { return of_ == Of::all ? all_[v] : few_[v]; }
  const Type& operator[](std::size_t v) const { return of_ == Of::all ? all_[v] : few_.at(v); }
  /// Makes room for `count` values.
  void cover(std::size_t count) {
    if (of_ == Of::all) all_.resize(count);
  }

 private:
  Of of_;
  std::vector<Type> all_;
  std::unordered_map<std::size_t, Type> few_;
};

/// A type environment: what is known about a graph's values, kept outside of the graph, so that one
/// graph can be analysed for many shape classes.
struct TypeEnvironment {
  Types types;
  std::unordered_map<std::int32_t, Tensor> values;  ///< by ValueId: values known in advance
  /// By ValueId: the elements of short lists of integers, as far as they are known.
  std::unordered_map<std::int32_t, Integers> elements;
  /// By ValueId: values that are certainly equal to another value.
  std::unordered_map<std::int32_t, ValueId> same;
  /// While none of these is negative, all rules that were applied hold for any values of the
  /// symbols (`TypeContext::holds_while`). Nothing where a rule gave no such conditions.
  std::optional<Integers> conditions = Integers();
  /// Give each unknown extent of an op's result a symbol of its own, so that equal extents
  /// downstream are recognized.
  bool name_unknowns = false;
  /// Trust the model's annotations of states (`keeps`): only for values that never exist.
  bool trust_annotations = false;
  const Tensor* value(ValueId v) const {
    auto it = values.find(static_cast<std::int32_t>(v));
    return it == values.end() ? nullptr : &it->second;
  }
  /// The integer in `v`, which has one element, where it is certain.
  Integer integer(ValueId v) const;
  /// The value that `v` is certainly equal to, or `v`.
  ValueId original(ValueId v) const;
};

/// The types and constants that the graph itself holds.
TypeEnvironment type_environment(const Graph&);

/// The same, with a distinct symbol for each extent of an input and for each unknown extent that
/// inference meets, so that equal extents are recognized.
TypeEnvironment named_type_environment(const Graph&);

/// The types and constants of these values alone.
TypeEnvironment environment_of(const Graph&, std::span<const ValueId>);
/// The types and constants of what a node and its regions read alone, so that to infer one node
/// costs what the node is.
TypeEnvironment environment_around(const Graph&, NodeId);

/// The number of trips of a loop, where it is certain; else unknown.
Extent trips_of(const Node& loop, const TypeEnvironment&);

/// The branch that an `if` takes, where its condition is known.
std::optional<RegionId> taken_branch(const Node&, const TypeEnvironment&);

/// Evaluates a pure node whose inputs are all known and small; the session supplies it.
using Evaluator =
    std::function<std::vector<Value>(const Graph&, NodeId, std::span<const Tensor* const> inputs)>;

/// Types of everything in `r` and below, in order, from the types of its parameters and captures
/// in `k`. A loop's states are widened until their types hold for the initial and the next value
/// (loops.md rule 1); an if's results are joined. Checks what can be checked before running:
/// every op's rule, dtypes of states, tensor items, axes within rank, arities. With an evaluator,
/// small values that follow from what is known (shape arithmetic) are found as well.
/// Errors name the node, its op and the types of its inputs.
void infer_region(const Graph&, RegionId r, TypeEnvironment& k, const Evaluator& = nullptr);

/// The same for one node (its regions included).
void infer_node(const Graph&, NodeId, TypeEnvironment& k, const Evaluator& = nullptr);

/// The types of a node's results where those of the values in its regions are known already, and
/// `k` has those of its inputs and of the regions' parameters and results. False: what a state of a
/// loop becomes is not of the state's type as far as that tells, and the body has to be inferred.
bool infer_from_regions(const Graph&, NodeId, TypeEnvironment& k);

/// `infer_region` for the whole graph, written into its values.
void infer_types(Graph&, const Evaluator& = nullptr);

/// Whether a node can fail at run time, as far as the graph's types and constants tell; one with
/// regions can.
bool can_fail(const Graph&, NodeId);

/// "node 'cell/add' (Add)": how errors and dumps name a node.
std::string where(const Graph&, NodeId);

}  // namespace rondel::ir
