#include "passes/move_into_branches.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "passes/fold_constants.h"
#include "passes/loop_body.h"
#include "passes/replace_value.h"
#include "passes/unlike_ranks.h"

#include <algorithm>
#include <compare>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// The values of the graph that depend on some others.
class Dependents {
 public:
  Dependents(const Graph& g, std::span<const ValueId> of) : g_(g) {
    add(of);
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      for (const ir::Use& use : g_.value(v).uses) add_reader(use);
    }
  }
  bool contains(ValueId v) const { return found_.contains(v); }

 private:
  void add(std::span<const ValueId> values) {
    for (const ValueId v : values)
      if (v != ValueId::none && found_.insert(v).second) open_.push_back(v);
  }
  void add_reader(const ir::Use& use) {
    const NodeId n = use.node != NodeId::none ? use.node : g_.region(use.region).parent;
    if (n == NodeId::none) return;
    add(g_.node(n).outputs);
    for (const RegionId r : g_.node(n).regions) add(g_.region(r).params);
  }

  const Graph& g_;
  std::set<ValueId> found_;
  std::vector<ValueId> open_;
};

struct Stack {
  NodeId loop;
  std::size_t number;
  auto operator<=>(const Stack&) const = default;
};

/// What is known of an empty stack's item (docs/loops.md, rule 3).
struct Item {
  Type inferred, declared;
  bool is_declared() const { return declared.is_tensor() && declared.has_rank(); }
};

/// Adds the outputs of the `if`s that a path decides.
void add_decided(const Graph& g, const Path& p, std::vector<ValueId>& values) {
  const auto add = [&](NodeId n) {
    std::ranges::copy_if(g.node(n).outputs, std::back_inserter(values),
                         [](ValueId v) { return v != ValueId::none; });
  };
  for (const Path::Step& step : p.steps)
    if (step.taken != RegionId::none) add(step.node);
  if (p.decides != NodeId::none) add(p.decides);
  for (const Path& next : p.next) add_decided(g, next, values);
}

bool is_inside(const Graph& g, NodeId n, std::span<const NodeId> nodes) {
  return std::ranges::any_of(nodes, [&](NodeId outer) {
    return outer == n || std::ranges::any_of(g.node(outer).regions, [&](RegionId r) {
             return g.encloses(r, g.node(n).region);
           });
  });
}

/// Whether an empty stack has the same shape if more is inferred of its items.
bool keeps_empty_stack(const Item& before, const Type& after) {
  if (!after.has_rank()) return !before.inferred.has_rank();
  if (before.inferred.has_rank())
    return std::ranges::equal(before.inferred.extents(), after.extents());
  if (before.is_declared())
    return after.is_static() && std::ranges::equal(before.declared.extents(), after.extents());
  return after.rank() == 0;
}

/// The stacks of which more would be known without trips if a knot is resolved, and which may be
/// without. True: a stack that has the shape [0] then, because nothing tells its rank, can have it
/// all the same. In other loops its rank would keep them from being compiled.
std::map<Stack, bool> changed_stacks(const Graph& g, const RankKnots& knots, const RankKnot& knot) {
  std::vector<ValueId> decided;
  add_decided(g, knot.path, decided);
  const Dependents dependents(g, decided);
  std::map<Stack, bool> changed;
  for (const auto& [n, before] : knots.items_before) {
    if (certainly_makes_a_trip(g.node(n), knots.types())) continue;
    const bool copied = is_inside(g, n, knot.nodes);
    const LoopParts parts(g.node(n));
    for (std::size_t s = 0; s < parts.stacks; ++s) {
      const Item item{before[s], parts.declared[s]};
      const bool kept = copied ? is_told(item.inferred)
                               : keeps_empty_stack(item, knots.items_after.at(n)[s]);
      if (kept || !dependents.contains(g.region(parts.body).results[1 + parts.states + s]))
        continue;
      changed[{n, s}] = !copied && !item.inferred.has_rank() && !item.is_declared() &&
                        !is_in_loop(g, g.node(n).region) &&
                        g.node(n).outputs.back() != ValueId::none;
    }
  }
  return changed;
}

/// Readers of the stack read one of the shape [0] if the loop makes no trip: of its extents, only
/// the number of trips. `rank`: of the stack.
void keep_empty(Graph& g, const Stack& stack, std::int64_t rank) {
  const Node& loop = g.node(stack.loop);
  const ValueId v = loop.outputs[loop.loop().states + stack.number];
  if (!g.is_read(v)) return;
  const std::int64_t axis = axis_from_front(loop.loop().axis_out[stack.number], rank);
  const std::vector<ir::Use> readers = g.value(v).uses;
  ir::Builder b(g, loop.region);
  b.insert_after(stack.loop);
  b.source(loop.source);
  const ValueId empty = b("equal", {loop.outputs.back(), b.scalar<std::int64_t>(0)});
  const ValueId begin = b("where", {empty, b.integers({axis}), b.integers({0})});
  const ValueId end = b("where", {empty, b.integers({axis + 1}), b.integers({rank})});
  const ValueId kept = b("reshape", {v, b("slice", {b("shape", {v}), begin, end})},
                         {{"allowzero", 1}});
  replace_uses(g, readers, kept);
  g.value(kept).name = g.value(v).name;
}

/// Moves the nodes, and behind them those in between that read their results.
void move(Graph& g, const RankKnot& knot) {
  const NodeId before = g.next(knot.nodes.back());
  const std::vector<ValueId> made = copy_path(g, knot.path, knot.results, knot.types, knot.region,
                                              before);
  for (std::size_t j = 0; j < made.size(); ++j) g.replace_uses(knot.results[j], made[j]);
  ir::Cloner copy(g, g);
  for (const NodeId n : knot.readers) {
    const NodeId moved = copy.node(n, knot.region, before);
    for (std::size_t j = 0; j < g.node(n).outputs.size(); ++j)
      if (g.node(n).outputs[j] != ValueId::none)
        g.replace_uses(g.node(n).outputs[j], g.node(moved).outputs[j]);
  }
  for (auto n = knot.readers.rbegin(); n != knot.readers.rend(); ++n) g.erase_node(*n);
  for (auto n = knot.nodes.rbegin(); n != knot.nodes.rend(); ++n) g.erase_node(*n);
}

NodeId loop_around(const Graph& g, NodeId n) {
  do n = g.region(g.node(n).region).parent;
  while (!g.node(n).is_loop());
  return n;
}

/// A round over the graph.
class Round {
 public:
  Round(Graph& g, Remarks* remarks) : g_(g), remarks_(remarks) {}

  bool run() {
    RankKnots knots(g_);
    do knots.find(left_);
    while (leave_some(knots));
    note_left(knots);
    std::set<Stack> changed;
    for (const RankKnot& knot : knots.found)
      for (const auto& [stack, _] : changed_stacks(g_, knots, knot)) changed.insert(stack);
    for (const Stack& stack : changed)
      keep_empty(g_, stack, knots.items_after.at(stack.loop)[stack.number].rank() + 1);
    for (const RankKnot& knot : knots.found) {
      if (waits(knot)) continue;
      LoopRemarks(remarks_, g_, loop_around(g_, knot.first)).done([&] {
        return "what follows " + ir::where(g_, knot.first) + " is computed in its branches";
      });
      move(g_, knot);
    }
    return !knots.found.empty();
  }

 private:
  /// True if there were knots to leave.
  bool leave_some(const RankKnots& knots) {
    const std::size_t before = left_.size();
    for (const RankKnot& knot : knots.found)
      for (const auto& [stack, can_be_kept] : changed_stacks(g_, knots, knot))
        if (!can_be_kept) left_.insert(knot.first);
    return left_.size() > before;
  }
  /// Whether this round has moved nodes of the knot, or those that it would move behind.
  bool waits(const RankKnot& knot) {
    for (const auto* nodes : {&knot.nodes, &knot.readers})
      if (std::ranges::any_of(*nodes, [&](NodeId n) { return moved_.contains(n); })) return true;
    moved_.insert(knot.nodes.begin(), knot.nodes.end());
    moved_.insert(knot.readers.begin(), knot.readers.end());
    return false;
  }
  void note_left(const RankKnots& knots) {
    std::map<NodeId, std::string> left = knots.why_not;
    for (const NodeId n : left_) left[n] = "a loop without trips would stack another shape";
    for (const auto& [n, why] : left)
      LoopRemarks(remarks_, g_, loop_around(g_, n)).left([&] {
        return fmt::format("what follows {} stays there: {}", ir::where(g_, n), why);
      });
  }

  Graph& g_;
  Remarks* const remarks_;
  std::set<NodeId> left_, moved_;
};

/// Whether an `if` in a loop gives a result that is read and has no rank.
bool may_have_knots(const Graph& g) {
  for (const RegionId r : g.regions_below(RegionId::root)) {
    if (!is_in_loop(g, r)) continue;
    for (const NodeId n : g.region(r).nodes)
      if (!g.node(n).is_loop() && !g.node(n).regions.empty() &&
          std::ranges::any_of(g.node(n).outputs, [&](ValueId v) {
            return g.is_read(v) && g.value(v).type.is_tensor() && !g.value(v).type.has_rank();
          }))
        return true;
  }
  return false;
}

}  // namespace

bool move_into_branches(Graph& g, Remarks* remarks) {
  bool changed = false;
  while (may_have_knots(g) && Round(g, remarks).run()) {
    renew_types(g);
    changed = true;
  }
  return changed;
}

}  // namespace rondel::passes
