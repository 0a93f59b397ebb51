#include "frontends/mdf/counters.h"

#include <set>

namespace rondel::mdf {

/// Counts in the scale of a set execution are reset with each pass. A sequence never ends, so its
/// counts are equal to those of `life`.
TimeScale kept_scale(TimeScale s) {
  if (s == TimeScale::set_execution) return TimeScale::pass;
  return s == TimeScale::life ? TimeScale::sequence : s;
}

Counters::Counters(const Rules& rules) : nodes_(rules.nodes.size()) {
  for (std::size_t n = 0; n < rules.nodes.size(); ++n) need(rules.nodes[n], n);
  need(rules.end, 0);
  need(rules.sequence, 0);
}

void Counters::need(const Counter& c) {
  if (numbers_.emplace(c, all_.size()).second) all_.push_back(c);
}

void Counters::need(const Rule& r, std::size_t owner) {
  const auto scale = static_cast<std::size_t>(kept_scale(r.scale));
  switch (r.kind) {
    case Rule::Kind::all_have_run:
      if (asks_all_nodes(r)) need({Count::nodes_called, 0, scale});
      [[fallthrough]];
    case Rule::Kind::calls:
      for (const std::size_t n : r.nodes) need({Count::calls, n, scale});
      break;
    case Rule::Kind::every_n_calls: need({Count::usable, r.nodes[0], owner}); break;
    case Rule::Kind::just_ran: need({Count::just_ran, r.nodes[0]}); break;
    case Rule::Kind::set_executions: need({Count::set_executions, 0, scale}); break;
    case Rule::Kind::passes: need({Count::passes, 0, scale}); break;
    case Rule::Kind::updates: need({Count::updates}); break;
    case Rule::Kind::interval: need({Count::time}); break;
    case Rule::Kind::n_when: need({Count::satisfied, r.number}); break;
    default: break;
  }
  for (const Rule& part : r.parts) need(part, owner);
}

bool Counters::asks_all_nodes(const Rule& r) const {
  return std::set(r.nodes.begin(), r.nodes.end()).size() == nodes_;
}

std::optional<std::size_t> Counters::of(const Counter& c) const {
  const auto it = numbers_.find(c);
  if (it == numbers_.end()) return std::nullopt;
  return it->second;
}

std::vector<ValueId> Counters::begin(ir::Builder& b) const {
  std::vector<ValueId> out;
  for (const Counter& c : all_)
    out.push_back(c.count == Count::just_ran ? b.scalar(false) : b.scalar(std::int64_t{0}));
  return out;
}

void Counters::reset(ir::Builder& b, TimeScale scale, std::vector<ValueId>& values) const {
  for (std::size_t k = 0; k < all_.size(); ++k) {
    const bool in_scale = all_[k].count == Count::calls || all_[k].count == Count::nodes_called ||
                          all_[k].count == Count::passes || all_[k].count == Count::set_executions;
    const bool begins = in_scale && all_[k].b <= static_cast<std::size_t>(scale);
    const bool usable = all_[k].count == Count::usable && scale == TimeScale::update;
    if (begins || usable) values[k] = b.scalar(std::int64_t{0});
  }
}

void Counters::add(ir::Builder& b, const Counter& c, ValueId by,
                   std::vector<ValueId>& values) const {
  if (const auto k = of(c)) values[*k] = b("add", {values[*k], by});
}

}  // namespace rondel::mdf
