#pragma once
#include "frontends/mdf/conditions.h"
#include "ir/builder.h"

#include <map>
#include <tuple>
#include <vector>

namespace rondel::mdf {

using ir::ValueId;

/// The quantity of a counter of the scheduler.
enum class Count : std::uint8_t {
  calls,           ///< of node `a` in time scale `b`
  nodes_called,    ///< how many nodes have been called in time scale `b`
  usable,          ///< calls of node `a` since node `b` last ran
  just_ran,        ///< bool: node `a` ran in the last set that was executed
  set_executions,  ///< in time scale `b`
  passes,          ///< in time scale `b`
  updates,         ///< since the beginning of the run
  satisfied,       ///< how often `n_when` rule `a` has held
  time,            ///< the clock, in ticks
};

struct Counter {
  Count count;
  std::size_t a = 0, b = 0;
  auto operator<=>(const Counter&) const = default;
};

/// The counters that the rules of a model read; other counters are not kept.
class Counters {
 public:
  explicit Counters(const Rules&);

  const std::vector<Counter>& all() const { return all_; }
  /// Whether the rule, an `all_have_run`, asks for all nodes of the model: then one counter tells.
  bool asks_all_nodes(const Rule&) const;
  /// The index of a counter; nothing if no rule reads it.
  std::optional<std::size_t> of(const Counter&) const;
  /// i64, or bool for `just_ran`.
  static DType dtype(const Counter& c) {
    return c.count == Count::just_ran ? DType::boolean : DType::i64;
  }
  /// The initial values of all counters.
  std::vector<ValueId> begin(ir::Builder&) const;
  /// Resets the counters of a time scale and of finer ones.
  void reset(ir::Builder&, TimeScale, std::vector<ValueId>& values) const;
  /// Adds `by` to a counter, if it is kept.
  void add(ir::Builder&, const Counter&, ValueId by, std::vector<ValueId>& values) const;

 private:
  void need(const Rule&, std::size_t owner);
  void need(const Counter&);

  std::size_t nodes_;  ///< of the model
  std::vector<Counter> all_;
  std::map<Counter, std::size_t> numbers_;
};

/// The time scale that a count is kept in: `set_execution` as `pass`, `life` as `sequence`.
TimeScale kept_scale(TimeScale);

}  // namespace rondel::mdf
