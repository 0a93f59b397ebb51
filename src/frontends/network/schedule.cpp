#include "frontends/network/schedule.h"

#include "base/error.h"

#include <algorithm>

namespace rondel::network {
namespace {

const Scope* common(const Scope* a, const Scope* b) {
  while (a != b) {
    if (a->depth >= b->depth) a = a->parent;
    else b = b->parent;
  }
  return a;
}

}  // namespace

const TensorData* resolve_conditional_input(const TensorData* t) {
  while (t->producer != nullptr && t->producer->type == LayerType::kCONDITIONAL_INPUT)
    t = t->producer->input(0);
  return t;
}

std::optional<Unit> producing_unit(const TensorData* t) {
  t = resolve_conditional_input(t);
  const LayerData* l = t->producer;
  if (l == nullptr || l->type == LayerType::kRECURRENCE || l->type == LayerType::kITERATOR)
    return std::nullopt;
  return l->construct != nullptr ? Unit{nullptr, l->construct} : Unit{l, nullptr};
}

Schedule::Schedule(const NetworkData& network) : network_(network), containment_(network) {
  scopes_.push_back(std::make_unique<Scope>());
  find_live();
  find_order();
  assign_scopes();
  find_needs();
}

const Scope& Schedule::scope(const ConstructData& c, int branch) const {
  return *scope_of_.at({&c, branch});
}

LoopLayers Schedule::loop(const ConstructData& c) const {
  LoopLayers parts;
  for (const LayerData* l : c.boundary) {
    if (l->type == LayerType::kTRIP_LIMIT) (is_while(*l) ? parts.go : parts.count) = l;
    if (!live_.contains(l)) continue;
    if (l->type == LayerType::kRECURRENCE) parts.recurrences.push_back(l);
    if (l->type == LayerType::kITERATOR) parts.iterators.push_back(l);
    if (l->type == LayerType::kLOOP_OUTPUT) parts.outputs.push_back(l);
  }
  return parts;
}

std::vector<const LayerData*> Schedule::outputs(const ConstructData& c) const {
  std::vector<const LayerData*> all;
  for (const LayerData* l : c.boundary)
    if (l->type == LayerType::kCONDITIONAL_OUTPUT && live_.contains(l)) all.push_back(l);
  return all;
}

/// Marks the layers that an output of the network needs. In loops, recurrences and iterators that
/// are not read stay unmarked.
void Schedule::find_live() {
  for (const TensorData* t : network_.outputs)
    if (t->producer != nullptr) mark_live(*t->producer);
  std::vector<const LayerData*> waiting;
  for (const auto& l : network_.layers)
    if (l->outputs.empty() && l->construct == nullptr) waiting.push_back(l.get());
  while (std::erase_if(waiting, [&](const LayerData* l) { return schedule_assertion(*l); }) != 0) {}
}

void Schedule::mark_live(const LayerData& first) {
  std::vector<const LayerData*> pending;
  const auto visit = [&](const LayerData* l) {
    if (l != nullptr && live_.insert(l).second) pending.push_back(l);
  };
  visit(&first);
  while (!pending.empty()) {
    const LayerData& l = *pending.back();
    pending.pop_back();
    for (const TensorData* t : l.inputs)
      if (t != nullptr) visit(t->producer);
    if (l.construct != nullptr)
      for (const LayerData* other : l.construct->boundary)
        if (other->type == LayerType::kTRIP_LIMIT || other->type == LayerType::kCONDITION)
          visit(other);
  }
}

/// Schedules the assertion in the innermost loop around it, if all loops around it are live.
/// Returns whether they are.
bool Schedule::schedule_assertion(const LayerData& l) {
  const ConstructData* innermost = nullptr;
  for (const auto& loop : network_.loops) {
    if (!containment_.inside(*loop, l)) continue;
    if (std::ranges::none_of(loop->boundary, [&](const LayerData* b) {
          return b->type == LayerType::kLOOP_OUTPUT && live_.contains(b);
        }))
      return false;
    if (innermost == nullptr || containment_.inside(*innermost, *loop)) innermost = loop.get();
  }
  assertions_[innermost].push_back(&l);
  mark_live(l);
  return true;
}

const std::vector<const LayerData*>& Schedule::assertions(const ConstructData* loop) const {
  static const std::vector<const LayerData*> none;
  const auto it = assertions_.find(loop);
  return it == assertions_.end() ? none : it->second;
}

std::vector<Schedule::Use> Schedule::uses_of(const Unit& u, const Scope* at) const {
  std::vector<Use> all;
  const auto add = [&](const TensorData* t, const Scope* in) {
    if (t != nullptr) all.push_back({t, in});
  };
  const auto inner = [&](int branch) {
    const auto it = scope_of_.find({u.construct, branch});
    return it == scope_of_.end() ? nullptr : it->second;
  };
  if (u.layer != nullptr) {
    for (const TensorData* t : u.layer->inputs) add(t, at);
  } else if (u.construct->is_loop) {
    const LoopLayers parts = loop(*u.construct);
    if (parts.count != nullptr) add(parts.count->input(0), at);
    for (const LayerData* l : parts.recurrences) add(l->input(0), at);
    for (const LayerData* l : parts.iterators) add(l->input(0), at);
    for (const LayerData* l : parts.outputs) add(l->input(1), at);
    if (parts.go != nullptr) add(parts.go->input(0), inner(0));
    for (const LayerData* l : parts.recurrences) add(l->input(1), inner(0));
    for (const LayerData* l : parts.outputs) add(l->input(0), inner(0));
    for (const LayerData* l : assertions(u.construct)) add(l->input(0), inner(0));
  } else {
    for (const LayerData* l : u.construct->boundary)
      if (l->type == LayerType::kCONDITION) add(l->input(0), at);
    for (const LayerData* l : outputs(*u.construct)) {
      add(l->input(0), inner(0));
      add(l->input(1), inner(1));
    }
  }
  return all;
}

/// Sorts depth first, starting from the layers in the order they were added. This keeps that order
/// where possible.
void Schedule::find_order() {
  enum class State { unseen, begun, done };
  std::map<Unit, State> state;
  std::vector<Unit> stack;
  for (const auto& l : network_.layers) {
    if (!live_.contains(l.get()) || l->outputs.empty()) continue;
    const auto first = producing_unit(l->outputs[0].get());
    if (!first || l->type == LayerType::kCONDITIONAL_INPUT) continue;
    stack.push_back(*first);
    while (!stack.empty()) {
      const Unit u = stack.back();
      if (state[u] == State::done) {
        stack.pop_back();
      } else if (state[u] == State::begun) {
        state[u] = State::done;
        position_[u] = order_.size();
        order_.push_back(u);
        stack.pop_back();
      } else {
        state[u] = State::begun;
        const std::vector<Use> uses = uses_of(u, nullptr);
        for (auto it = uses.rbegin(); it != uses.rend(); ++it) {
          const auto m = producing_unit(it->value);
          if (!m || state[*m] == State::done) continue;
          invariant(state[*m] != State::begun, "{} depends on itself, which nobody refused",
                    m->layer != nullptr ? describe(*m->layer) : describe(*m->construct));
          stack.push_back(*m);
        }
      }
    }
  }
}

/// Visits users first, so that all uses of a unit have a scope when the unit is assigned one.
void Schedule::assign_scopes() {
  for (const TensorData* t : network_.outputs) use(t, &root());
  for (const LayerData* l : assertions(nullptr)) use(l->input(0), &root());
  for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
    const Unit& u = *it;
    const Scope* at = where_.at(u) = hoist_out_of_loops(u, where_.at(u));
    if (u.construct != nullptr)
      for (int branch = 0; branch < (u.construct->is_loop ? 1 : 2); ++branch) {
        scopes_.push_back(std::make_unique<Scope>(Scope{at, u.construct, branch, at->depth + 1}));
        scope_of_[{u.construct, branch}] = scopes_.back().get();
      }
    for (const Use& used : uses_of(u, at)) use(used.value, used.in);
  }
}

void Schedule::use(const TensorData* t, const Scope* in) {
  const auto m = producing_unit(t);
  if (!m) return;
  const auto [it, first] = where_.try_emplace(*m, in);
  if (!first) it->second = common(it->second, in);
}

const Scope* Schedule::hoist_out_of_loops(const Unit& u, const Scope* at) const {
  if (u.layer != nullptr && u.layer->type == LayerType::kCONSTANT) return &root();
  while (at->construct != nullptr && at->construct->is_loop &&
         !(u.layer != nullptr ? containment_.inside(*at->construct, *u.layer)
                              : containment_.inside(*at->construct, *u.construct)))
    at = at->parent;
  return at;
}

/// A use inside a construct counts as a use by the construct in each enclosing scope, up to the
/// scope of the value.
void Schedule::find_needs() {
  for (const Unit& u : order_)
    for (const Use& used : uses_of(u, where_.at(u))) {
      const auto m = producing_unit(used.value);
      if (!m) continue;
      const Scope* there = where_.at(*m);
      const Scope* at = used.in;
      // A construct uses a value of its own body or branch: no use in the scope around it.
      if (at == there && at != where_.at(u)) continue;
      Unit reader = u;
      for (; at != there; at = at->parent) reader = Unit{nullptr, at->construct};
      needs_[reader].insert(*m);
    }
}

bool Schedule::draws(const Unit& u) const {
  if (u.layer != nullptr)
    return u.layer->type == LayerType::kFILL &&
           static_cast<FillOperation>(u.layer->parameters.i("operation")) !=
               FillOperation::kLINSPACE;
  return std::ranges::any_of(where_, [&](const auto& placed) {
    const auto& [unit, scope] = placed;
    if (unit.layer == nullptr || !draws(unit)) return false;
    for (const Scope* s = scope; s->construct != nullptr; s = s->parent)
      if (s->construct == u.construct) return true;
    return false;
  });
}

std::vector<Unit> Schedule::needed(const Scope& s,
                                   std::span<const TensorData* const> wanted) const {
  std::set<Unit> seen;
  std::vector<Unit> pending, here;
  const auto visit = [&](const Unit& u) {
    if (where_.at(u) == &s && seen.insert(u).second) pending.push_back(u);
  };
  for (const TensorData* t : wanted)
    if (const auto m = producing_unit(t)) visit(*m);
  while (!pending.empty()) {
    const Unit u = pending.back();
    pending.pop_back();
    here.push_back(u);
    if (const auto needs = needs_.find(u); needs != needs_.end())
      for (const Unit& m : needs->second) visit(m);
  }
  std::sort(here.begin(), here.end(),
            [&](const Unit& a, const Unit& b) { return position_.at(a) < position_.at(b); });
  return here;
}

}  // namespace rondel::network
