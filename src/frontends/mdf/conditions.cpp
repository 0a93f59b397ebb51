#include "frontends/mdf/conditions.h"

#include "base/error.h"
#include "frontends/mdf/read_condition.h"
#include "frontends/mdf/schedule.h"

#include <algorithm>

namespace rondel::mdf {
namespace {

/// Whether a rule statically never holds.
bool is_never(const Rule& r) {
  switch (r.kind) {
    case Rule::Kind::never: return true;
    case Rule::Kind::all: return std::ranges::any_of(r.parts, is_never);
    case Rule::Kind::any: return std::ranges::all_of(r.parts, is_never);
    default: return false;
  }
}

Rule default_rule(const std::vector<std::size_t>& waits) {
  Rule r{.kind = Rule::Kind::all};
  for (const std::size_t n : waits) {
    Rule each{.kind = Rule::Kind::every_n_calls};
    each.nodes = {n};
    each.n = 1;
    r.parts.push_back(std::move(each));
  }
  return r;
}

Rule default_end(const Graph& g) {
  Rule r{.kind = Rule::Kind::all_have_run};
  for (std::size_t n = 0; n < g.nodes.size(); ++n) r.nodes.push_back(n);
  return r;
}

/// Throws Error(caller) if no evaluation can end, e.g. because it waits for a node that never runs.
void check_ends(const Graph& g, const Rules& rules) {
  require(!is_never(rules.end) || !is_never(rules.sequence),
          "no evaluation would end: its termination is Never");
  if (rules.end.kind != Rule::Kind::all_have_run || !is_never(rules.sequence)) return;
  for (const std::size_t n : rules.end.nodes)
    if (is_never(rules.nodes[n]))
      fail(
          "no evaluation would end: it ends when all of its nodes have run, and {} never runs; "
          "give "
          "the graph a termination for ENVIRONMENT_STATE_UPDATE",
          where(g.nodes[n]));
}

}  // namespace

bool has_conditions(const Graph& g) {
  return !g.termination.empty() ||
         std::ranges::any_of(g.conditions, [](const auto& c) { return c.has_value(); });
}

Rules read_rules(const Graph& g) {
  Rules rules;
  const auto waits = dependencies(g);
  for (std::size_t n = 0; n < g.nodes.size(); ++n) {
    try {
      rules.nodes.push_back(g.conditions[n] ? read_rule(g, *g.conditions[n], true, rules.n_whens)
                                            : default_rule(waits[n]));
    } catch (const Error& e) {
      throw e.within(fmt::format("the condition of {}", where(g.nodes[n])));
    }
  }
  rules.end = default_end(g);
  rules.sequence.kind = Rule::Kind::never;
  for (const auto& [name, condition] : g.termination) {
    const std::string place = fmt::format("the termination of '{}'", name);
    const auto scale = time_scale_named(name);
    require_at(
        scale.has_value(), place,
        "there is no such time scale; expected ENVIRONMENT_STATE_UPDATE or ENVIRONMENT_SEQUENCE");
    try {
      Rule r = read_rule(g, condition, false, rules.n_whens);
      if (scale == TimeScale::update) rules.end = std::move(r);
      if (scale == TimeScale::sequence) rules.sequence = std::move(r);
    } catch (const Error& e) { throw e.within(place); }
  }
  check_ends(g, rules);
  return rules;
}

}  // namespace rondel::mdf
