#include "frontends/network/containment.h"

#include "base/error.h"

#include <algorithm>
#include <set>

namespace rondel::network {
namespace {

bool is_entry(const LayerData& l) {
  return l.type == LayerType::kRECURRENCE || l.type == LayerType::kITERATOR ||
         l.type == LayerType::kCONDITIONAL_INPUT;
}
bool is_output(const LayerData& l) {
  return l.type == LayerType::kLOOP_OUTPUT || l.type == LayerType::kCONDITIONAL_OUTPUT;
}
const char* suggestion(const ConstructData& c) {
  return c.is_loop ? "take it out through a loop output" : "take it out through an output of it";
}

}  // namespace

Containment::Containment(const NetworkData& network)
    : network_(network), uses_(network.layers.size()) {
  for (const auto& l : network.layers)
    for (std::size_t k = 0; k < l->inputs.size(); ++k)
      if (l->inputs[k] != nullptr && l->inputs[k]->producer != nullptr)
        uses_[l->inputs[k]->producer->number].emplace_back(l.get(), k);
  for (const auto& c : network.loops) constructs_.push_back(c.get());
  for (const auto& c : network.conditionals) constructs_.push_back(c.get());
  for (const ConstructData* c : constructs_) find_members(*c);
  for (const ConstructData* c : constructs_) check_boundary(*c);
  check_overlaps();
  check_outputs();
  for (const ConstructData* c : constructs_) check_feedback(*c);
}

bool Containment::inside(const ConstructData& construct, const LayerData& layer) const {
  return inside_.at(&construct)[layer.number];
}
bool Containment::inside(const ConstructData& outer, const ConstructData& inner) const {
  return contains_.at(&outer).contains(&inner);
}
bool Containment::is_inside(const ConstructData& c, const TensorData* t) const {
  return t != nullptr && t->producer != nullptr && inside(c, *t->producer);
}

void Containment::mark(const ConstructData& c, const LayerData& l, const TensorData* value) {
  std::vector<bool>& in = inside_[&c];
  if (in[l.number]) return;
  in[l.number] = true;
  pending_.push_back(&l);
  if (l.construct == nullptr || l.construct == &c) return;
  contains_[&c].try_emplace(l.construct, Crossing{&l, value});
  for (const LayerData* boundary : l.construct->boundary) mark(c, *boundary, value);
}

void Containment::find_members(const ConstructData& c) {
  inside_[&c].resize(network_.layers.size());
  contains_[&c];
  for (const LayerData* l : c.boundary)
    if (is_entry(*l)) mark(c, *l, nullptr);
  while (!pending_.empty()) {
    const LayerData& l = *pending_.back();
    pending_.pop_back();
    for (const auto& [user, k] : uses_[l.number])
      if (user->construct != &c) mark(c, *user, user->inputs[k]);
  }
}

/// Values that enter a construct must be computed outside of it.
void Containment::check_boundary(const ConstructData& c) const {
  for (const LayerData* l : c.boundary) {
    const auto outside = [&](std::size_t k, const char* what) {
      require_at(!is_inside(c, l->input(k)), describe(*l),
                 "{}, {}, is inside {}; expected a value from outside", what,
                 l->input(k) == nullptr ? "" : describe(*l->input(k)), describe(c));
    };
    switch (l->type) {
      case LayerType::kRECURRENCE: outside(0, "its initial value"); break;
      case LayerType::kITERATOR: outside(0, "what it iterates over"); break;
      case LayerType::kLOOP_OUTPUT: outside(1, "its length"); break;
      case LayerType::kCONDITION: outside(0, "the condition"); break;
      case LayerType::kCONDITIONAL_INPUT: outside(0, "its input"); break;
      case LayerType::kTRIP_LIMIT:
        if (is_while(*l)) check_while(*l);
        else outside(0, "the trip count");
        break;
      default: break;
    }
  }
}

/// A while limit must be computable before the trip: from recurrences of its loop and from outside.
void Containment::check_while(const LayerData& limit) const {
  const ConstructData& c = *limit.construct;
  std::vector<const LayerData*> pending;
  std::set<const LayerData*> seen;
  const auto visit = [&](const TensorData* t) {
    if (is_inside(c, t) && seen.insert(t->producer).second) pending.push_back(t->producer);
  };
  visit(limit.input(0));
  while (!pending.empty()) {
    const LayerData& l = *pending.back();
    pending.pop_back();
    if (l.construct == &c && l.type == LayerType::kRECURRENCE) continue;
    require_at(l.type != LayerType::kITERATOR && l.type != LayerType::kRECURRENCE &&
                   l.type != LayerType::kLOOP_OUTPUT,
               describe(limit),
               "the while limit is computed from {}; expected recurrences of {} and values from "
               "outside of it only",
               describe(l), describe(c));
    for (const TensorData* t : l.inputs) visit(t);
  }
}

/// Two constructs must be nested or disjoint.
void Containment::check_overlaps() const {
  for (const ConstructData* a : constructs_)
    for (const ConstructData* b : constructs_) {
      if (!inside(*a, *b) || !inside(*b, *a)) continue;
      const Crossing &in_a = contains_.at(a).at(b), &in_b = contains_.at(b).at(a);
      fail(
          "{} and {} overlap: {} uses {}, which is inside {}, and {} uses {}, which is inside {}; "
          "expected one inside the other, and values to leave through its outputs",
          describe(*a), describe(*b), describe(*in_a.by), describe(*in_a.value), describe(*a),
          describe(*in_b.by), describe(*in_b.value), describe(*b));
    }
  std::map<const ConstructData*, std::ptrdiff_t> sizes;
  for (const ConstructData* c : constructs_)
    sizes[c] = std::count(inside_.at(c).begin(), inside_.at(c).end(), true);
  for (const auto& l : network_.layers) {
    std::vector<const ConstructData*> around;
    for (const ConstructData* c : constructs_)
      if (inside(*c, *l)) around.push_back(c);
    check_around(*l, std::move(around), sizes);
  }
}

/// The constructs around a layer must be nested.
void Containment::check_around(const LayerData& l, std::vector<const ConstructData*> around,
                               const std::map<const ConstructData*, std::ptrdiff_t>& sizes) const {
  std::vector<const ConstructData*> nested = around;
  std::ranges::stable_sort(nested, std::ranges::greater(),
                           [&](const ConstructData* c) { return sizes.at(c); });
  const auto apart = [&](const ConstructData* a, const ConstructData* b) {
    return !inside(*a, *b) && !inside(*b, *a);
  };
  if (std::ranges::adjacent_find(nested, apart) == nested.end()) return;
  for (std::size_t i = 0; i < around.size(); ++i)
    for (std::size_t j = i + 1; j < around.size(); ++j)
      if (apart(around[i], around[j]))
        fail("{} and {} overlap: {} is inside of both, and neither is inside the other",
             describe(*around[i]), describe(*around[j]), describe(l));
}

/// The boundary layer through which a value that `inner` depends on enters the construct.
const LayerData& Containment::entrance(const ConstructData& c, const LayerData& inner) const {
  std::vector<const LayerData*> pending{&inner};
  std::set<const LayerData*> seen;
  while (true) {
    const LayerData& l = *pending.back();
    if (l.construct == &c) return l;
    pending.pop_back();
    const auto visit = [&](const LayerData* before) {
      if (before != nullptr && inside(c, *before) && seen.insert(before).second)
        pending.push_back(before);
    };
    for (const TensorData* t : l.inputs)
      if (t != nullptr) visit(t->producer);
    if (l.construct != nullptr)
      for (const LayerData* boundary : l.construct->boundary) visit(boundary);
  }
}

void Containment::check_outputs() const {
  for (const TensorData* t : network_.outputs)
    for (const ConstructData* c : constructs_) {
      if (!is_inside(*c, t)) continue;
      const LayerData& from = entrance(*c, *t->producer);
      const std::string why = &from == t->producer
                                  ? ""
                                  : fmt::format(", as it is computed from {}", describe(from));
      fail("{} is marked as an output of the network and is inside {}{}; {}", describe(*t),
           describe(*c), why, suggestion(*c));
    }
}

/// A construct must not depend on its own outputs, except through the second input of a recurrence
/// of an enclosing loop.
void Containment::check_feedback(const ConstructData& c) const {
  std::vector<bool> after(network_.layers.size());
  std::vector<const LayerData*> pending;
  const auto reach = [&](const LayerData& l) {
    if (after[l.number]) return;
    after[l.number] = true;
    pending.push_back(&l);
  };
  for (const LayerData* l : c.boundary)
    if (is_output(*l)) reach(*l);
  while (!pending.empty()) {
    const LayerData& l = *pending.back();
    pending.pop_back();
    for (const auto& [user, k] : uses_[l.number]) {
      const ConstructData* of = user->construct;
      if (of != nullptr && inside(*of, c))
        continue;  // an output of an enclosing construct, or a value for its next trip
      require(
          of != &c,
          "{} uses {}, which depends on an output of {} itself, and that comes when it has ended",
          describe(*user), describe(*user->inputs[k]), describe(c));
      reach(*user);
      if (of != nullptr)
        for (const LayerData* boundary : of->boundary) reach(*boundary);
    }
  }
}

}  // namespace rondel::network
