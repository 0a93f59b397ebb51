#pragma once
#include "base/error.h"
#include "ir/changing_extents.h"
#include "ir/infer.h"

#include <map>

namespace rondel::ir {

/// Infers what a TypeEnvironment keeps, node by node, as `infer.h` says. Its parts are in files of
/// their own.
class Inference {
 public:
  Inference(const Graph& g, TypeEnvironment& k, const Evaluator& e) : g_(g), k_(k), evaluate_(e) {
    k_.types.cover(g.value_count());
  }

  void region(RegionId r);
  /// A node of a region. One that may never run and whose rule does not hold says nothing.
  void node(NodeId n);
  void infer(NodeId n);
  /// With `name_unknowns`, also names the extents of stacks whose trip count is unknown.
  /// `infer_region` does not need these names.
  void name_stacks() { name_stacks_ = true; }
  /// Implements `infer_from_regions`.
  bool from_regions(NodeId n);

 private:
  Type& type(ValueId v) { return k_.types[index(v)]; }

  // The way through regions (infer.cpp).
  /// Calls f with each value that is defined in a region or below it.
  template <class F> void each_value_inside(RegionId outer, const F& f) {
    for (const RegionId r : g_.regions_below(outer)) {
      for (const ValueId v : g_.region(r).params) f(v);
      for (const NodeId n : g_.region(r).nodes)
        for (const ValueId v : g_.node(n).outputs)
          if (v != ValueId::none) f(v);
    }
  }
  /// What a loop or `if` that stays broken computes has the types that the graph tells.
  void keep_types_inside(RegionId r);
  /// So has what a branch computes that is not taken, if nothing was said of it yet.
  void complete_types_inside(RegionId r);

  // What the rule of an op says (infer_rule.cpp).
  void rule(NodeId n);
  void check_arity(NodeId n);
  /// The message with the types of the inputs appended, but before a hint such as "; cast one of
  /// them?".
  std::string with_inputs(const std::string& message, const Node& node);
  /// "; a=f32[8,64] b=f32[32,8]"
  std::string inputs_text(const Node& node);
  /// Records what the rule states about the outputs besides their types.
  void keep(const Node& node, const TypeContext& said);
  bool are_extents_of_one_value(std::span<const Symbol> names) const;
  /// Records the value of a list whose elements are all known.
  void keep_list(std::int32_t v, const Integers& elements);
  /// Constant folding: evaluates a small node whose inputs are known. How many elements it selects
  /// is known then, too.
  void fold(NodeId n, std::span<const Tensor* const> values);

  // Names of extents (infer_rule.cpp).
  /// The type with unknown or named extents for those that depend on a trip index. Such a symbol
  /// would stand for another extent in each trip, but equal symbols are equal extents.
  Type of_all_trips(const Type& t);
  Extent by_name(const Integer& e);
  Type named(const Type& t, ValueId v) const;
  PositionNames position_names(const Node& node);
  /// What symbols broadcast to has one name, in whichever order and however often they are met.
  BroadcastNames broadcast_names();
  /// The name of what is measured in this way; equal keys get the same name.
  Symbol measured(const std::string& key, const Measure& how);

  // Loops (infer_loop.cpp).
  void loop(NodeId n);
  void check_loop(NodeId n);
  /// Makes the trip index a symbol if an upper bound is known, as a number or a symbol.
  void name_trip_index(NodeId n);
  void begin_states(NodeId n);
  void body_until_types_hold(NodeId n, ChangingExtents& changing);
  /// Joins the type of each state with the type of its next value; true if a state was widened.
  bool widen_states(NodeId n, const LoopParts& parts, ChangingExtents& changing);
  /// Sets the types of a loop's results from the types of its body.
  void finish_loop(NodeId n, const ChangingExtents& changing);
  Type element_of(NodeId n, const Type& scan, std::int64_t axis, std::size_t k);
  Type stack_of(NodeId n, const LoopParts& parts, std::size_t k, const Type& item,
                const Extent& trips);

  // Extents of states as expressions over the trip index. What else has such an extent then has
  // the extent of the state, by name (infer_loop.cpp).
  struct ExtentByTrip {
    Symbol name;      ///< of the extent in the current trip
    Integer in_trip;  ///< the same, over the trip index and names from outside of the loop
  };
  /// Calls f with each extent of a state that has a name: (the extent, the first one, the next).
  template <class F> void each_changing(NodeId n, const F& f);
  /// The integer over trip indices in the place of extents.
  Integer by_trip_index(const Integer& i) const;
  /// The integer as an extent of a state plus a number; nothing if it is no such sum, or depends on
  /// no trip index.
  std::optional<Integer> by_state(const Integer& i) const;
  /// Guesses extents by trip. Equal ones get one name. False if there are none.
  bool find_extents_by_trip(NodeId n, const ChangingExtents& changing);
  /// What the extent may be in each trip: it grows by a number, or it is what something else in the
  /// body was one trip before.
  Integer extent_by_trip(Symbol trip, const Extent& e, const Extent& first, const Extent& next);
  /// Whether each extent by trip of this loop is still a state's and holds in the first trip, and
  /// in the next trip if all hold in one.
  bool hold_in_next_trip(NodeId n, std::size_t around);

  // Branches (infer_branch.cpp).
  void need_condition(NodeId n);
  /// A branch that is known not to be taken is not checked, because it may be invalid: for example,
  /// a branch that squeezes an axis if its extent is 1.
  void branch(NodeId n);
  void join_branches(NodeId n);
  /// The joined type of an output of an `if`, with names for extents that are not the same in both
  /// branches. `made`: the names of this `if` so far; the same two extents get the same name.
  Type either(ValueId output, const Type& a, const Type& b, const Type& both,
              std::vector<Symbol>& made);

  // For all of them.
  /// A predicate: whether an integer depends on a trip index.
  auto depends_on_trip() const {
    return [this](const Integer& i) { return k_.trips.changes(i); };
  }
  void forget(ValueId v) {
    if (v == ValueId::none) return;
    k_.values.erase(static_cast<std::int32_t>(v));
    k_.elements.erase(static_cast<std::int32_t>(v));
    k_.same.erase(static_cast<std::int32_t>(v));
  }
  template <class... Args>
  [[noreturn]] void fail_at(NodeId n, fmt::format_string<Args...> text, Args&&... args) {
    rondel::fail_at(where(g_, n), text, std::forward<Args>(args)...);
  }
  /// Checks that `v` can be one element of `dtype`, of any rank.
  void need_scalar(NodeId n, ValueId v, DType dtype, std::string_view what) {
    const Type& t = type(v);
    if (!t.may_be_one_element() || t.dtype() != dtype)
      fail_at(n, "{} is {}; expected one element of {}", what, to_text(t), name(dtype));
  }
  void set_output(const Node& node, std::size_t j, const Type& t) {
    if (j < node.outputs.size() && node.outputs[j] != ValueId::none) type(node.outputs[j]) = t;
  }

  const Graph& g_;
  TypeEnvironment& k_;
  const Evaluator& evaluate_;
  std::map<std::string, Symbol> measured_;  ///< names by what is measured
  std::vector<ExtentByTrip> by_trip_;       ///< of the loops around, the outermost first
  std::size_t rules_ = 0;
  bool name_stacks_ = false;
};

}  // namespace rondel::ir
