#include "frontends/mdf/scheduler.h"

#include "base/error.h"
#include "base/text.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/schedule.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace rondel::mdf {
namespace {

using ir::Builder;

/// The maximum number of passes; an evaluation that has not ended then is an error.
constexpr std::int64_t most_passes = 1'000'000;
/// The default duration of a set, in picoseconds.
constexpr std::int64_t default_interval = 1'000'000'000;

/// Whether a rule makes the scheduler use absolute time. A negated rule does not.
bool is_absolute(const Rule& r) {
  if (r.kind == Rule::Kind::interval) return true;
  return (r.kind == Rule::Kind::all || r.kind == Rule::Kind::any) &&
         std::ranges::any_of(r.parts, is_absolute);
}

/// Collects the intervals of a rule that makes the scheduler use absolute time.
void collect(const Rule& r, std::vector<const Rule*>& intervals) {
  if (r.kind == Rule::Kind::interval) intervals.push_back(&r);
  if (r.kind == Rule::Kind::all || r.kind == Rule::Kind::any)
    for (const Rule& part : r.parts)
      if (is_absolute(part)) collect(part, intervals);
}

/// Whether each check of the rule counts.
bool counts_checks(const Rule& r) {
  return r.kind == Rule::Kind::n_when || std::ranges::any_of(r.parts, counts_checks);
}

/// Collects the nodes that can change the result of the rule when they run, which no value does
/// before all nodes of a set have run.
void collect_called(const Rule& r, std::vector<std::size_t>& nodes) {
  if (r.kind == Rule::Kind::calls || r.kind == Rule::Kind::every_n_calls ||
      r.kind == Rule::Kind::all_have_run)
    nodes.insert(nodes.end(), r.nodes.begin(), r.nodes.end());
  for (const Rule& part : r.parts) collect_called(part, nodes);
}

/// The termination rule that did not hold, for an error.
std::string what_ends(const Graph& g) {
  if (g.termination.empty())
    return "it ends when all nodes have run, and some node's condition does not hold";
  return "its termination does not hold: " +
         join(g.termination, " or ", [](const auto& scale_and_condition) {
           const auto& [scale, condition] = scale_and_condition;
           return fmt::format("{} of '{}'", condition.type, scale);
         });
}

/// Collects the conditions that read a value.
void collect_thresholds(const Rule& r, std::vector<const Rule*>& out) {
  if (r.kind == Rule::Kind::threshold) out.push_back(&r);
  for (const Rule& part : r.parts) collect_thresholds(part, out);
}

/// Calls `write()`, with `place` as the source of its nodes and the frame of its errors.
auto at(Builder& b, const std::string& place, const auto& write) {
  b.source(place);
  try {
    return write();
  } catch (const Error& e) { throw e.within(place); }
}

ValueId as_count(Builder& b, ValueId flag) { return cast(b, flag, DType::i64); }
ValueId both(Builder& b, ValueId x, ValueId y) { return b("and", {x, y}); }
ValueId either(Builder& b, ValueId x, ValueId y) { return b("or", {x, y}); }
ValueId no(Builder& b, ValueId x) { return b("not", {x}); }

}  // namespace

void Scheduler::State::append_to(std::vector<ValueId>& all) const {
  for (const auto* list : {&values, &executed, &counters})
    all.insert(all.end(), list->begin(), list->end());
}

Scheduler::State Scheduler::State::like(std::span<const ValueId> all) const {
  State out;
  auto next = all.begin();
  const auto take = [&](std::size_t count) {
    const auto first = next;
    next += static_cast<std::ptrdiff_t>(count);
    return std::vector<ValueId>(first, next);
  };
  out.values = take(values.size());
  out.executed = take(executed.size());
  out.counters = take(counters.size());
  return out;
}

Scheduler::Scheduler(const Graph& g)
    : graph_(g), rules_(read_rules(g)), counters_(rules_), sets_(consideration_sets(g)),
      set_of_(g.nodes.size()) {
  for (std::size_t k = 0; k < sets_.size(); ++k)
    for (const std::size_t n : sets_[k]) set_of_[n] = k;
  std::vector<const Rule*> all{&rules_.end, &rules_.sequence};
  for (const Rule& r : rules_.nodes) all.push_back(&r);
  std::int64_t interval = 0, first = std::numeric_limits<std::int64_t>::max();
  for (const Rule* r : all) {
    if (!is_absolute(*r)) continue;
    in_time_ = true;
    std::vector<const Rule*> intervals;
    collect(*r, intervals);
    std::int64_t fixed = std::numeric_limits<std::int64_t>::max();
    for (const Rule* i : intervals) {
      interval = std::gcd(interval, i->repeat.value_or(0));
      if (i->start && i->start_inclusive) fixed = std::min(fixed, *i->start);
      if (i->end && i->end_inclusive) fixed = std::min(fixed, *i->end);
    }
    first = std::min(first, fixed == std::numeric_limits<std::int64_t>::max() ? 0 : fixed);
  }
  ticks_per_picosecond_ = std::ssize(sets_);
  ticks_a_set_ = interval != 0 ? interval : default_interval * ticks_per_picosecond_;
  if (in_time_) first_time_ = first * ticks_per_picosecond_;
}

void Scheduler::keep_read_values(Layout& layout) const {
  std::vector<const Rule*> all;
  for (const Rule& r : rules_.nodes) collect_thresholds(r, all);
  collect_thresholds(rules_.end, all);
  collect_thresholds(rules_.sequence, all);
  for (const Rule* r : all) {
    const std::size_t node = r->nodes[0];
    const bool varies = r->role != Role::parameter ||
                        !graph_.nodes[node].parameters[r->item].is_constant();
    if (varies) layout.keep(r->role, node, r->item);
  }
}

ValueId Scheduler::compared(Builder& b, const Rule& r, ValueId count) const {
  const ValueId n = b.scalar(r.n);
  switch (r.comparison) {
    case Comparison::below: return b("less", {count, n});
    case Comparison::at: return b("equal", {count, n});
    case Comparison::above: return b("greater", {count, n});
    case Comparison::every: return b("equal", {b("mod", {count, n}), b.scalar(std::int64_t{0})});
    default: return b("greater_or_equal", {count, n});
  }
}

ValueId Scheduler::interval(Builder& b, const Rule& r, std::size_t owner, const State& s) const {
  const ValueId now = s.counters[*counters_.of({Count::time})];
  const auto ticks = [&](std::int64_t ps) { return b.scalar(ps * ticks_per_picosecond_); };
  ValueId holds = b.scalar(true);
  if (r.repeat) {
    const bool from_start = sets_.size() == 1 && r.start;
    const std::int64_t offset = from_start
                                    ? *r.start * ticks_per_picosecond_
                                    : static_cast<std::int64_t>(set_of_[owner]) * ticks_a_set_;
    const ValueId rest = b("mod", {b("sub", {now, b.scalar(offset)}), ticks(*r.repeat)});
    holds = b("equal", {rest, b.scalar(std::int64_t{0})});
  }
  if (r.start)
    holds = both(b, holds,
                 b(r.start_inclusive ? "greater_or_equal" : "greater", {now, ticks(*r.start)}));
  if (r.end)
    holds = both(b, holds, b(r.end_inclusive ? "less_or_equal" : "less", {now, ticks(*r.end)}));
  return holds;
}

ValueId Scheduler::threshold(Builder& b, const EvaluationContext& s, const Rule& r,
                             const State& state) const {
  const std::size_t node = r.nodes[0];
  const Node& n = graph_.nodes[node];
  ValueId v = r.role == Role::parameter ? value_before(b, n, r.item, s.replacements, s.functions)
                                        : b.scalar(0.0);
  const std::string read = where(graph_, Slot{r.role, node, r.item});
  b.source(fmt::format("Threshold of {}", read));
  if (const auto slot = s.layout.of(r.role, node, r.item))
    v = choose(b, state.executed[node], state.values[*slot], v);
  v = as_float(b, v);
  const Shape shape = shape_of(b, v);
  require(r.indices.size() <= shape.size(), "Threshold has {} indices for {}, whose shape is [{}]",
          r.indices.size(), read, fmt::join(shape, ","));
  for (const std::int64_t i : r.indices) v = b("gather", {v, b.scalar(i)});
  require(element_count(shape_of(b, v)) == 1,
          "Threshold reads {} elements of {}; name one by 'indices'", element_count(shape_of(b, v)),
          read);
  if (rank_of(b, v) > 0) v = b("reshape", {v, b.integers({})});
  const ValueId t = b.scalar(r.threshold);
  if (r.comparator != "==" && r.comparator != "!=") return compare(b, r.comparator, v, t);
  const double tolerance = r.absolute_tolerance + r.relative_tolerance * std::fabs(r.threshold);
  const ValueId near = b("less_or_equal", {b("abs", {b("sub", {v, t})}), b.scalar(tolerance)});
  const ValueId equal = either(b, near, b("equal", {v, t}));
  return r.comparator == "==" ? equal : no(b, equal);
}

/// Whether a rule holds. `guard`: whether the check takes place; an `n_when` counts only then.
ValueId Scheduler::holds(Builder& b, const EvaluationContext& s, const Rule& r, std::size_t owner,
                         ValueId guard, State& state) const {
  const auto counter = [&](const Counter& c) { return state.counters[*counters_.of(c)]; };
  const auto scale = static_cast<std::size_t>(kept_scale(r.scale));
  switch (r.kind) {
    case Rule::Kind::always: return b.scalar(true);
    case Rule::Kind::never: return b.scalar(false);
    case Rule::Kind::all: {
      ValueId all = b.scalar(true);
      for (const Rule& part : r.parts)
        all = both(b, all, holds(b, s, part, owner, both(b, guard, all), state));
      return all;
    }
    case Rule::Kind::any: {
      ValueId any = b.scalar(false);
      for (const Rule& part : r.parts)
        any = either(b, any, holds(b, s, part, owner, both(b, guard, no(b, any)), state));
      return any;
    }
    case Rule::Kind::odd: {
      ValueId odd = b.scalar(false);
      for (const Rule& part : r.parts)
        odd = b("xor", {odd, holds(b, s, part, owner, guard, state)});
      return odd;
    }
    case Rule::Kind::negation: return no(b, holds(b, s, r.parts[0], owner, guard, state));
    case Rule::Kind::n_when: {
      const std::size_t k = *counters_.of({Count::satisfied, r.number});
      const ValueId open = b("less", {state.counters[k], b.scalar(r.n)});
      const ValueId held = both(b, open,
                                holds(b, s, r.parts[0], owner, both(b, guard, open), state));
      state.counters[k] = b("add", {state.counters[k], as_count(b, both(b, guard, held))});
      return held;
    }
    case Rule::Kind::interval: return interval(b, r, owner, state);
    case Rule::Kind::set_executions:
      return compared(b, r, counter({Count::set_executions, 0, scale}));
    case Rule::Kind::passes: return compared(b, r, counter({Count::passes, 0, scale}));
    case Rule::Kind::updates: return compared(b, r, counter({Count::updates}));
    case Rule::Kind::sequences: return compared(b, r, b.scalar(std::int64_t{0}));
    case Rule::Kind::calls: {
      ValueId sum = b.scalar(std::int64_t{0});
      for (const std::size_t n : r.nodes) sum = b("add", {sum, counter({Count::calls, n, scale})});
      return compared(b, r, sum);
    }
    case Rule::Kind::every_n_calls:
      return b("greater_or_equal", {counter({Count::usable, r.nodes[0], owner}), b.scalar(r.n)});
    case Rule::Kind::just_ran: return counter({Count::just_ran, r.nodes[0]});
    case Rule::Kind::all_have_run: {
      if (counters_.asks_all_nodes(r))
        return b("equal",
                 {counter({Count::nodes_called, 0, scale}), b.scalar(std::ssize(graph_.nodes))});
      ValueId all = b.scalar(true);
      for (const std::size_t n : r.nodes)
        all = both(b, all,
                   b("greater", {counter({Count::calls, n, scale}), b.scalar(std::int64_t{0})}));
      return all;
    }
    case Rule::Kind::threshold: return threshold(b, s, r, state);
  }
  broken_invariant("a rule of an unknown kind");
}

ValueId Scheduler::should_continue(Builder& b, const EvaluationContext& s, State& state) const {
  return at(b, "the termination conditions", [&] {
    const ValueId end = holds(b, s, rules_.end, 0, b.scalar(true), state);
    return no(b, either(b, end, holds(b, s, rules_.sequence, 0, b.scalar(true), state)));
  });
}

/// How often the condition of each node of a set is checked, at most: once, and again as long as
/// nodes of the set that run can change its result. Where checks count, all are checked as long as
/// any node may run.
std::vector<std::size_t> Scheduler::rounds(const std::vector<std::size_t>& set) const {
  const std::size_t most = set.size() + 1;
  if (std::ranges::any_of(set, [&](std::size_t n) { return counts_checks(rules_.nodes[n]); }))
    return std::vector(set.size(), most);
  std::vector<std::vector<std::size_t>> called(set.size());  // places in the set
  for (std::size_t k = 0; k < set.size(); ++k) {
    std::vector<std::size_t> nodes;
    collect_called(rules_.nodes[set[k]], nodes);
    for (const std::size_t n : nodes)
      if (const auto at = std::ranges::find(set, n); at != set.end() && n != set[k])
        called[k].push_back(static_cast<std::size_t>(at - set.begin()));
  }
  std::vector<std::size_t> rounds(set.size(), 1);
  for (bool changed = true; std::exchange(changed, false);)
    for (std::size_t k = 0; k < set.size(); ++k)
      for (const std::size_t other : called[k])
        if (rounds[k] <= rounds[other] && rounds[k] < most) {
          rounds[k] = std::min(rounds[other] + 1, most);
          changed = true;
        }
  return rounds;
}

void Scheduler::count_call(Builder& b, std::size_t node, ValueId runs, State& state) const {
  const ValueId one = as_count(b, runs), zero = b.scalar(std::int64_t{0});
  for (std::size_t k = 0; k < counters_.all().size(); ++k) {  // before its calls are counted
    const Counter& c = counters_.all()[k];
    if (c.count != Count::nodes_called) continue;
    const ValueId calls = state.counters[*counters_.of({Count::calls, node, c.b})];
    const ValueId first = both(b, runs, b("equal", {calls, zero}));
    state.counters[k] = b("add", {state.counters[k], as_count(b, first)});
  }
  for (std::size_t k = 0; k < counters_.all().size(); ++k) {
    const Counter& c = counters_.all()[k];
    ValueId& v = state.counters[k];
    if (c.count == Count::usable && c.b == node) v = b("where", {runs, zero, v});
    if ((c.count == Count::usable || c.count == Count::calls) && c.a == node)
      v = b("add", {v, one});
  }
}

/// Which nodes of a set run. Each runs at most once, and can make other nodes of the set run.
Scheduler::Flags Scheduler::choose_nodes(Builder& b, const EvaluationContext& s, std::size_t set,
                                         ValueId live, State& state) const {
  const std::vector<std::size_t>& nodes = sets_[set];
  Flags runs(nodes.size(), ValueId::none);
  ValueId asking = live;
  const std::vector<std::size_t> checks = rounds(nodes);
  for (std::size_t round = 0; round < std::ranges::max(checks); ++round) {
    ValueId changed = ValueId::none;
    for (std::size_t k = 0; k < nodes.size(); ++k) {
      if (round >= checks[k]) continue;
      const std::string place = fmt::format("the condition of {}", where(graph_.nodes[nodes[k]]));
      const ValueId starts = at(b, place, [&] {
        const ValueId asked = runs[k] == ValueId::none ? asking : both(b, asking, no(b, runs[k]));
        return both(b, asked, holds(b, s, rules_.nodes[nodes[k]], nodes[k], asked, state));
      });
      count_call(b, nodes[k], starts, state);
      runs[k] = runs[k] == ValueId::none ? starts : either(b, runs[k], starts);
      changed = changed == ValueId::none ? starts : either(b, changed, starts);
    }
    asking = changed;
  }
  return runs;
}

/// Runs a node in an `if`; its slots keep their values if it does not run.
void Scheduler::run_node(Builder& b, const EvaluationContext& s, std::size_t node, ValueId runs,
                         State& state) const {
  std::vector<std::size_t> own;
  for (std::size_t k = 0; k < s.layout.slots.size(); ++k)
    if (s.layout.slots[k].node == node) own.push_back(k);
  const auto run = [&](Builder& inner) {
    Table table{state.values, {}};
    for (const ValueId executed : state.executed) table.executed.push_back({false, executed});
    execute_node(inner, s, node, table);
    std::vector<ValueId> results;
    for (const std::size_t k : own)
      results.push_back(
          fitted(inner, table.values[k], s.layout.slots[k].dtype, s.layout.slots[k].shape));
    return results;
  };
  const auto keep = [&](Builder&) {
    std::vector<ValueId> results;
    for (const std::size_t k : own) results.push_back(state.values[k]);
    return results;
  };
  b.source(where(graph_.nodes[node]));
  if (!own.empty()) {
    const std::vector<ValueId> after = b.if_(runs, run, keep);
    for (std::size_t k = 0; k < own.size(); ++k) state.values[own[k]] = after[k];
  }
  state.executed[node] = either(b, state.executed[node], runs);
}

/// Counts a set execution if `counts` is true. `runs`: which nodes of the set ran.
void Scheduler::set_executed(Builder& b, const std::vector<std::size_t>& set, const Flags& runs,
                             ValueId counts, State& state) const {
  for (std::size_t k = 0; k < counters_.all().size(); ++k) {
    const Counter& c = counters_.all()[k];
    ValueId& v = state.counters[k];
    if (c.count == Count::just_ran) {
      const auto at = std::ranges::find(set, c.a);
      const ValueId ran = at == set.end() ? b.scalar(false)
                                          : runs[static_cast<std::size_t>(at - set.begin())];
      v = choose(b, counts, ran, v);
    }
    if (c.count == Count::set_executions) v = b("add", {v, as_count(b, counts)});
    if (c.count == Count::time && in_time_)
      v = b("add", {v, b("mul", {as_count(b, counts), b.scalar(ticks_a_set_)})});
  }
}

/// Considers a set; returns whether any of its nodes ran. A set in which no node ran counts as
/// executed in absolute time only.
ValueId Scheduler::run_set(Builder& b, const EvaluationContext& s, std::size_t set, ValueId live,
                           State& state) const {
  const Flags runs = choose_nodes(b, s, set, live, state);
  ValueId any = runs[0];
  for (std::size_t k = 1; k < runs.size(); ++k) any = either(b, any, runs[k]);
  for (std::size_t k = 0; k < runs.size(); ++k) run_node(b, s, sets_[set][k], runs[k], state);
  set_executed(b, sets_[set], runs, in_time_ ? live : any, state);
  return any;
}

/// A pass over all sets; returns whether another pass follows.
ValueId Scheduler::pass(Builder& b, const EvaluationContext& s, State& state) const {
  counters_.reset(b, TimeScale::pass, state.counters);
  ValueId live = b.scalar(true), ran = b.scalar(false);
  for (std::size_t set = 0; set < sets_.size(); ++set) {
    if (set > 0) live = both(b, live, should_continue(b, s, state));
    ran = either(b, ran, run_set(b, s, set, live, state));
  }
  if (!in_time_) set_executed(b, {}, {}, no(b, ran), state);
  for (const TimeScale scale : {TimeScale::update, TimeScale::sequence})
    counters_.add(b, {Count::passes, 0, static_cast<std::size_t>(scale)}, b.scalar(std::int64_t{1}),
                  state.counters);
  return should_continue(b, s, state);
}

Scheduler::State Scheduler::evaluate(Builder& b, const EvaluationContext& s, State state) const {
  counters_.reset(b, TimeScale::update, state.counters);
  if (const auto time = counters_.of({Count::time}); time && in_time_)
    state.counters[*time] = b("max", {state.counters[*time], b.scalar(first_time_)});
  const ValueId begins = should_continue(b, s, state);
  ir::LoopParts parts;
  parts.has_trips = parts.has_go = true;
  std::vector<ValueId> inputs{b.scalar(most_passes), begins, begins};
  state.append_to(inputs);
  parts.states = 1 + state.size();
  b.source("the passes of an evaluation");
  const auto body = [&](Builder& inner, std::span<const ValueId> params) {
    State now = state.like(params.subspan(3));
    const ValueId goes = pass(inner, s, now);
    std::vector<ValueId> results{goes, goes};
    now.append_to(results);
    return results;
  };
  const std::vector<ValueId> after = b.loop(parts, inputs, body);
  b.add("assertion", {no(b, after[0])},
        {{"message", fmt::format("an evaluation has not ended after {} passes: {}", most_passes,
                                 what_ends(graph_))}},
        0);
  State out = state.like(std::span(after).subspan(1));
  counters_.add(b, {Count::updates}, b.scalar(std::int64_t{1}), out.counters);
  return out;
}

}  // namespace rondel::mdf
