#include "passes/remove_dead_loop_parts.h"

#include "ir/loop_editor.h"
#include "ir/name_of.h"
#include "passes/remove_dead.h"

#include <span>
#include <unordered_set>
#include <vector>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// The values of a loop's body that are needed, found backwards from the condition, the checks, and
/// the states and items whose final values and stacks are read.
class Reads {
 public:
  Reads(const Graph& g, NodeId loop) : g_(g), parts_(g.node(loop)), body_(g.region(parts_.body)) {
    read(body_.results[0]);
    for (std::size_t k = 0; k < parts_.states + parts_.stacks; ++k)
      if (g.is_read(g.node(loop).outputs[k])) read(body_.results[1 + k]);
    for (const NodeId n : body_.nodes)
      if (g.node(n).outputs.empty()) read_inputs(n);
    while (!pending_.empty()) follow();
  }

  bool contains(ValueId v) const { return read_.contains(v); }

 private:
  void read(ValueId v) {
    if (v != ValueId::none && read_.insert(v).second) pending_.push_back(v);
  }

  void read_inputs(NodeId n) {
    if (!nodes_.insert(n).second) return;
    for (const ValueId v : g_.node(n).inputs) read(v);
    for (const RegionId r : g_.node(n).regions)
      for (const ValueId v : g_.captures(r)) read(v);
  }

  void follow() {
    const ValueId v = pending_.back();
    pending_.pop_back();
    if (g_.value(v).region != parts_.body) return;
    if (g_.value(v).producer != NodeId::none) return read_inputs(g_.value(v).producer);
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (body_.params[2 + s] == v) return read(body_.results[1 + s]);
  }

  const Graph& g_;
  const ir::LoopParts parts_;
  const ir::Region& body_;
  std::unordered_set<ValueId> read_;
  std::unordered_set<NodeId> nodes_;  ///< whose inputs are read: a node may have many outputs
  std::vector<ValueId> pending_;
};

std::vector<std::size_t> dead_states(const Graph& g, NodeId loop) {
  const ir::LoopParts parts(g.node(loop));
  const Reads reads(g, loop);
  std::vector<std::size_t> dead;
  for (std::size_t s = 0; s < parts.states; ++s)
    if (!g.is_read(g.node(loop).outputs[s]) && !reads.contains(g.region(parts.body).params[2 + s]))
      dead.push_back(s);
  return dead;
}

std::vector<std::size_t> dead_stacks(const Graph& g, NodeId loop) {
  const ir::LoopParts parts(g.node(loop));
  std::vector<std::size_t> dead;
  for (std::size_t k = 0; k < parts.stacks; ++k)
    if (!g.is_read(g.node(loop).outputs[parts.states + k])) dead.push_back(k);
  return dead;
}

void say(Remarks* remarks, const Graph& g, NodeId loop, std::span<const std::size_t> states,
         std::span<const std::size_t> stacks) {
  LoopRemarks said(remarks, g, loop);
  const ir::LoopParts parts(g.node(loop));
  const ir::Region& body = g.region(parts.body);
  for (const std::size_t s : states)
    said.done([&] {
      return fmt::format("state {} is left out: only its own next value reads it",
                         ir::name_of(g, body.params[2 + s]));
    });
  for (const std::size_t k : stacks)
    said.done([&] {
      return fmt::format("the stack of {} is left out: nothing reads it",
                         ir::name_of(g, body.results[1 + parts.states + k]));
    });
}

bool remove_from(Graph& g, NodeId loop, Remarks* remarks) {
  const std::vector<std::size_t> states = dead_states(g, loop), stacks = dead_stacks(g, loop);
  if (states.empty() && stacks.empty()) return false;
  say(remarks, g, loop, states, stacks);
  ir::LoopEditor editor(g, loop);
  for (auto k = stacks.rbegin(); k != stacks.rend(); ++k) editor.remove_stack(*k);
  for (const std::size_t s : states)
    editor.set_next(s, g.region(editor.parts().body).params[2 + s]);
  remove_dead(g);
  if (g.is_erased(loop)) return true;
  for (auto s = states.rbegin(); s != states.rend(); ++s) editor.remove_state(*s);
  return true;
}

}  // namespace

bool remove_dead_loop_parts(Graph& g, Remarks* remarks) {
  bool any = false;
  for (bool changed = true; changed; any = any || changed) {
    changed = false;
    for (const RegionId r : g.regions_below(RegionId::root))
      for (const NodeId n : std::vector<NodeId>(g.region(r).nodes))
        if (!g.is_erased(n) && g.node(n).is_loop()) changed = remove_from(g, n, remarks) || changed;
  }
  return any;
}

}  // namespace rondel::passes
