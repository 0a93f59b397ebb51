#pragma once
#include "ir/graph.h"

#include <optional>
#include <unordered_map>

namespace rondel::ir {

/// Types by ValueId: for all values of a graph (dense), or for a few of them (sparse).
class Types {
 public:
  enum class Storage { dense, sparse };
  explicit Types(Storage storage = Storage::dense) : storage_(storage) {}
  Type& operator[](std::size_t v) { return storage_ == Storage::dense ? dense_[v] : sparse_[v]; }
  const Type& operator[](std::size_t v) const {
    return storage_ == Storage::dense ? dense_[v] : sparse_.at(v);
  }
  /// Null if nothing was said of the value.
  const Type* find(std::size_t v) const {
    if (storage_ == Storage::dense) return v < dense_.size() ? &dense_[v] : nullptr;
    const auto at = sparse_.find(v);
    return at == sparse_.end() ? nullptr : &at->second;
  }
  /// Makes room for `count` values.
  void cover(std::size_t count) {
    if (storage_ == Storage::dense) dense_.resize(count);
  }

 private:
  Storage storage_;
  std::vector<Type> dense_;
  std::unordered_map<std::size_t, Type> sparse_;
};

/// How a program finds the integer that a name stands for when it runs: as an expression over names
/// and trip indices, as a position on an axis (`TypeContext::position`), or as what extents
/// broadcast to. The name has this meaning where the graph says it, in the current trip.
struct Measure {
  Integer expression;  ///< unknown for a position
  ValueId list = ValueId::none;
  std::size_t element = 0;
  Extent axis = {};
  Extents broadcast = {};  ///< symbols without repetition, in a fixed order
  /// An upper bound, as an expression over names and trip indices.
  Integer most() const;
};

/// What inference knows about a graph's values. It is kept outside of the graph, so that one graph
/// can be analysed for many shape classes.
struct TypeEnvironment {
  Types types;
  std::unordered_map<std::int32_t, Tensor> values;  ///< by ValueId: values known in advance
  /// By ValueId: the elements of short lists of integers, as far as they are known.
  std::unordered_map<std::int32_t, Integers> elements;
  /// The trip indices of the loops that have been inferred. `elements` may depend on them; `types`
  /// and `conditions` do not.
  TripIndices trips;
  /// By ValueId: values that are certainly equal to another value.
  std::unordered_map<std::int32_t, ValueId> same;
  /// By name: the extents of which it is one, because an `if` gives them in its branches.
  std::unordered_map<Symbol, std::pair<Extent, Extent>> either;
  /// The results of all applied rules hold for all values of the symbols for which none of these
  /// integers is negative (`TypeContext::holds_while`). Nothing if some rule stated no conditions.
  std::optional<Integers> conditions = Integers();
  /// By NodeId, if `name_unknowns`: the same of the node's own rule.
  std::unordered_map<std::int32_t, std::optional<Integers>> node_conditions;
  /// If set, inference gives each unknown extent of an op's result a symbol of its own, so that
  /// equal extents downstream are recognized.
  bool name_unknowns = false;
  /// If set as well, extents that depend on a trip index or on data get names that `measures` tells
  /// how to find, as far as rules can say it.
  bool measure = false;
  std::unordered_map<Symbol, Measure> measures;
  /// An upper bound without names that are measured, if there is one; else the integer itself.
  Integer without_measures(const Integer&) const;
  /// If set, a node inside of a loop or branch whose rule does not hold keeps the graph's own types
  /// (`Graph::may_hold_broken_nodes`).
  bool keeps_broken_nodes = false;
  /// If set, the loop makes no trip (docs/loops.md, rule 3): inference trusts the model's
  /// annotations of states (`keeps`), and a rule that does not hold is no error: the graph's own
  /// types of the outputs are all that is known.
  bool without_trips = false;
  const Tensor* value(ValueId v) const {
    auto it = values.find(static_cast<std::int32_t>(v));
    return it == values.end() ? nullptr : &it->second;
  }
  /// The value of `v`, a tensor of one element, if it is certain; else unknown.
  Integer integer(ValueId v) const;
  /// The value that `v` is certainly equal to, or `v`.
  ValueId original(ValueId v) const;
};

/// The types and constants that the graph itself holds; `keeps_broken_nodes` if it may hold some.
TypeEnvironment type_environment(const Graph&);
/// The same, where each rule must hold.
TypeEnvironment strict_type_environment(const Graph&);

/// The same, with a distinct symbol for each extent of an input and for each unknown extent that
/// inference meets, so that equal extents are recognized.
TypeEnvironment named_type_environment(const Graph&);

/// The types and constants of these values only.
TypeEnvironment environment_of(const Graph&, std::span<const ValueId>);
/// The types and constants of the values that a node and its regions read. The cost of inferring
/// one node then does not depend on the size of the graph.
TypeEnvironment environment_around(const Graph&, NodeId);
TypeEnvironment environment_around(const Graph&, std::span<const NodeId>);

/// The trip count of a loop, if it is certain; else unknown.
Extent trips_of(const Node& loop, const TypeEnvironment&);
/// An upper bound on the number of trips; unknown if none is known. Negative: no trip is made.
Integer most_trips_of(const Node& loop, const TypeEnvironment&);

/// The branch that an `if` takes, if its condition is known.
std::optional<RegionId> taken_branch(const Node&, const TypeEnvironment&);

}  // namespace rondel::ir
