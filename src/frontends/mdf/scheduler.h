#pragma once
#include "frontends/mdf/counters.h"
#include "frontends/mdf/evaluation.h"

namespace rondel::mdf {

/// Writes evaluations of a model with conditions: a loop over passes, which considers the sets of
/// nodes in order and runs each node in an `if`.
class Scheduler {
 public:
  explicit Scheduler(const Graph&);

  const Counters& counters() const { return counters_; }
  /// Adds slots for the values that the conditions read.
  void keep_read_values(Layout&) const;

  /// The state that is carried from one evaluation to the next.
  struct State {
    std::vector<ValueId> values;    ///< by slot, in the slots' types
    std::vector<ValueId> executed;  ///< by node: whether it was ever executed
    std::vector<ValueId> counters;

    std::size_t size() const { return values.size() + executed.size() + counters.size(); }
    /// Appends all values as a flat list.
    void append_to(std::vector<ValueId>&) const;
    /// Splits a flat list into a state with the sizes of this one.
    State like(std::span<const ValueId> all) const;
  };
  /// Writes one evaluation; returns the state after it.
  State evaluate(ir::Builder&, const EvaluationContext&, State) const;

 private:
  using Flags = std::vector<ValueId>;

  ValueId holds(ir::Builder&, const EvaluationContext&, const Rule&, std::size_t owner,
                ValueId guard, State&) const;
  ValueId compared(ir::Builder&, const Rule&, ValueId count) const;
  ValueId interval(ir::Builder&, const Rule&, std::size_t owner, const State&) const;
  ValueId threshold(ir::Builder&, const EvaluationContext&, const Rule&, const State&) const;
  ValueId should_continue(ir::Builder&, const EvaluationContext&, State&) const;
  Flags choose_nodes(ir::Builder&, const EvaluationContext&, std::size_t set, ValueId live,
                     State&) const;
  void count_call(ir::Builder&, std::size_t node, ValueId runs, State&) const;
  void run_node(ir::Builder&, const EvaluationContext&, std::size_t node, ValueId runs,
                State&) const;
  void set_executed(ir::Builder&, const std::vector<std::size_t>& set, const Flags& runs,
                    ValueId counts, State&) const;
  ValueId run_set(ir::Builder&, const EvaluationContext&, std::size_t set, ValueId live,
                  State&) const;
  ValueId pass(ir::Builder&, const EvaluationContext&, State&) const;
  std::vector<std::size_t> rounds(const std::vector<std::size_t>& set) const;

  const Graph& graph_;
  Rules rules_;
  Counters counters_;
  std::vector<std::vector<std::size_t>> sets_;
  std::vector<std::size_t> set_of_;  ///< by node
  /// The clock, which advances with each set. A tick is a picosecond divided by the number of sets,
  /// so that a set takes a whole number of ticks.
  bool in_time_ = false;
  std::int64_t ticks_per_picosecond_ = 1, ticks_a_set_ = 0, first_time_ = 0;
};

}  // namespace rondel::mdf
