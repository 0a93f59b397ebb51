#pragma once
#include "frontends/mdf/conditions.h"
#include "ir/builder.h"

#include <map>
#include <tuple>
#include <vector>

namespace rondel::mdf {

using ir::ValueId;

/// What the scheduler counts.
enum class Count : std::uint8_t {
  calls,           ///< of node `a` in time scale `b`
  usable,          ///< calls of node `a` since node `b` last ran
  just_ran,        ///< bool: node `a` ran in the last set that was executed
  set_executions,  ///< in time scale `b`
  passes,          ///< in time scale `b`
  updates,
  satisfied,  ///< how often the `n_when` number `a` has held
  time,       ///< of the clock, in ticks
};

struct Counter {
  Count count;
  std::size_t a = 0, b = 0;
  auto operator<=>(const Counter&) const = default;
};

/// The counters that the rules of a model read; no others are kept.
class Counters {
 public:
  explicit Counters(const Rules&);

  const std::vector<Counter>& all() const { return all_; }
  /// The number of a counter; none: nobody reads it.
  std::optional<std::size_t> of(const Counter&) const;
  /// i64, or bool.
  static DType dtype(const Counter& c) {
    return c.count == Count::just_ran ? DType::boolean : DType::i64;
  }
  /// How they begin.
  std::vector<ValueId> begin(ir::Builder&) const;
  /// They after a time scale has begun anew.
  void reset(ir::Builder&, TimeScale, std::vector<ValueId>& values) const;
  /// Adds one, or `by`, where the counter is kept.
  void add(ir::Builder&, const Counter&, ValueId by, std::vector<ValueId>& values) const;

 private:
  void need(const Rule&, std::size_t owner);
  void need(const Counter&);

  std::vector<Counter> all_;
  std::map<Counter, std::size_t> numbers_;
};

/// A count in time scales finer than an evaluation is kept as one in it, except of a pass.
TimeScale kept_scale(TimeScale);

}  // namespace rondel::mdf
