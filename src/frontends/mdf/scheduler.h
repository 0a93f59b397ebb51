#pragma once
#include "frontends/mdf/counters.h"
#include "frontends/mdf/evaluation.h"

namespace rondel::mdf {

/// Writes evaluations of a model whose nodes run when conditions say so: a loop over passes, in
/// which each set of nodes is considered in turn, and each node runs in an `if`.
class Scheduler {
 public:
  explicit Scheduler(const Graph&);

  const Counters& counters() const { return counters_; }

  /// What lives from one evaluation to the next.
  struct State {
    std::vector<ValueId> values;    ///< by slot, of the slots' types
    std::vector<ValueId> executed;  ///< by node: whether it was ever executed
    std::vector<ValueId> counters;

    std::size_t size() const { return values.size() + executed.size() + counters.size(); }
    /// All of them, one after another, and back: of as many as there are in this one.
    void append_to(std::vector<ValueId>&) const;
    State like(std::span<const ValueId> all) const;
  };
  State evaluate(ir::Builder&, const Surroundings&, State) const;

 private:
  using Flags = std::vector<ValueId>;

  ValueId holds(ir::Builder&, const Surroundings&, const Rule&, std::size_t owner, ValueId guard,
                State&) const;
  ValueId compared(ir::Builder&, const Rule&, ValueId count) const;
  ValueId interval(ir::Builder&, const Rule&, std::size_t owner, const State&) const;
  ValueId threshold(ir::Builder&, const Surroundings&, const Rule&, const State&) const;
  ValueId goes_on(ir::Builder&, const Surroundings&, State&) const;
  Flags choose_nodes(ir::Builder&, const Surroundings&, std::size_t set, ValueId live,
                     State&) const;
  void count_call(ir::Builder&, std::size_t node, ValueId runs, State&) const;
  void run_node(ir::Builder&, const Surroundings&, std::size_t node, ValueId runs, State&) const;
  void set_executed(ir::Builder&, const std::vector<std::size_t>& set, const Flags& runs,
                    ValueId counts, State&) const;
  ValueId run_set(ir::Builder&, const Surroundings&, std::size_t set, ValueId live, State&) const;
  ValueId pass(ir::Builder&, const Surroundings&, State&) const;
  std::size_t rounds(const std::vector<std::size_t>& set) const;

  const Graph& graph_;
  Rules rules_;
  Counters counters_;
  std::vector<std::vector<std::size_t>> sets_;
  std::vector<std::size_t> set_of_;  ///< by node
  /// Of the clock, which goes on with each set: ticks are picoseconds times `1 / sets`.
  bool in_time_ = false;
  std::int64_t ticks_per_picosecond_ = 1, ticks_a_set_ = 0, first_time_ = 0;
};

}  // namespace rondel::mdf
