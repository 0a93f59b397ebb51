#include "passes/unswitch_loops.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/clone.h"
#include "passes/fold_constants.h"
#include "passes/loop_body.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// Copies one loop into the branches of an `if`.
class Unswitching {
 public:
  Unswitching(Graph& g, NodeId loop, Remarks* remarks)
      : g_(g), n_(loop), parts_(g.node(loop).loop()), remarks_(remarks, g, loop) {}

  bool run() {
    const std::vector<NodeId> all = ifs();
    if (all.empty()) return false;
    if (nodes_of_body(g_, n_) > most_nodes_to_copy(g_, n_))
      return leave(all[0], "the loop has too many nodes to be copied");
    if (!results_suit())
      return leave(all[0], "nothing would know the loop's results before it runs");
    const std::vector<ValueId> conditions = conditions_from_outside();
    return std::ranges::any_of(conditions, [&](ValueId c) { return decide_before(c); });
  }

 private:
  /// Returns false.
  bool leave(NodeId branching, const char* why) {
    remarks_.left([&] { return fmt::format("{} stays: {}", ir::where(g_, branching), why); });
    return false;
  }
  std::vector<ValueId> conditions_from_outside() {
    std::vector<ValueId> found;
    for (const NodeId n : ifs()) {
      const ValueId c = g_.node(n).inputs[0];
      if (g_.encloses(parts_.body, g_.value(c).region))
        leave(n, "its condition is made in the loop");
      else if (!suits(c)) leave(n, "its condition is not known to be one element");
      else if (std::ranges::count(found, c) == 0) found.push_back(c);
    }
    return found;
  }
  /// All in the loop with a result that is read; outer ones before those in their branches.
  std::vector<NodeId> ifs() const {
    std::vector<NodeId> found;
    for (const RegionId r : g_.regions_below(parts_.body))
      for (const NodeId n : g_.region(r).nodes)
        if (const Node& node = g_.node(n); is_if(node) && read_output(node) != ValueId::none)
          found.push_back(n);
    return found;
  }
  ValueId read_output(const Node& node) const {
    const auto v = std::ranges::find_if(node.outputs, [&](ValueId o) { return g_.is_read(o); });
    return v == node.outputs.end() ? ValueId::none : *v;
  }
  bool suits(ValueId condition) const {
    const ir::ValueInfo& v = g_.value(condition);
    return g_.constant(condition) == nullptr && v.type.is_tensor() && v.type.has_rank() &&
           std::ranges::all_of(v.type.extents(), [](const auto& e) { return e == ir::Extent(1); });
  }

  /// Finds the results that are read.
  bool results_suit() {
    for (const ValueId v : g_.node(n_).outputs)
      if (g_.is_read(v)) read_.push_back(v);
    const bool known = is_in_loop(g_, g_.node(n_).region);
    return !read_.empty() && std::ranges::all_of(read_, [&](ValueId v) {
      const Type& t = g_.value(v).type;
      return t.is_tensor() && (t.is_static() || !known);
    });
  }

  bool decide_before(ValueId condition) {
    const ir::TypeEnvironment types = types_in(g_, n_);
    std::vector<NodeId> decided = ifs();
    std::erase_if(decided, [&](NodeId n) { return g_.node(n).inputs[0] != condition; });
    if (!branches_give_the_same(decided, types))
      return leave(decided[0], "its branches may give values of different types");
    const NodeId made = add_if(condition, decided);
    if (!keeps_items(made, types)) {
      g_.erase_node(made);
      return leave(decided[0], "what the loop stacks could have another shape");
    }
    for (const NodeId n : decided)
      remarks_.done([&] { return ir::where(g_, n) + " is decided before the loop"; });
    for (std::size_t j = 0; j < read_.size(); ++j)
      g_.replace_uses(read_[j], g_.node(made).outputs[j]);
    g_.erase_node(n_);
    return true;
  }

  NodeId add_if(ValueId condition, const std::vector<NodeId>& decided) {
    std::vector<Type> types;
    for (const ValueId v : read_) types.push_back(g_.value(v).type);
    const RegionId branches[] = {branch(0, decided), branch(1, decided)};
    const NodeId made = g_.insert_node(g_.node(n_).region, n_, ir::op("if"), {}, {condition}, types,
                                       {branches[0], branches[1]});
    g_.node(made).source = g_.node(decided[0]).source;
    for (std::size_t j = 0; j < read_.size(); ++j)
      g_.value(g_.node(made).outputs[j]).name = g_.value(read_[j]).name;
    return made;
  }
  /// A copy of the loop that takes one branch.
  RegionId branch(std::size_t taken, const std::vector<NodeId>& decided) {
    const RegionId made = g_.add_region();
    ir::Cloner copy(g_, g_);
    copy.node(n_, made);
    for (const NodeId n : decided) {
      const NodeId copied = g_.value(copy(read_output(g_.node(n)))).producer;
      if (!g_.is_erased(copied)) replace_by_branch(g_, copied, g_.node(copied).regions[taken]);
    }
    std::vector<ValueId> results;
    for (const ValueId v : read_) results.push_back(copy(v));
    g_.set_results(made, std::move(results));
    return made;
  }

  // What is known of shapes before a run, and where no trip is made.

  bool branches_give_the_same(const std::vector<NodeId>& decided,
                              const ir::TypeEnvironment& types) const {
    return std::ranges::all_of(decided, [&](NodeId n) {
      const auto& then = g_.region(g_.node(n).regions[0]).results;
      const auto& otherwise = g_.region(g_.node(n).regions[1]).results;
      return std::ranges::equal(then, otherwise, [&](ValueId a, ValueId b) {
        return keeps_shape(types, a) && types.types[ir::index(a)] == types.types[ir::index(b)];
      });
    });
  }
  bool keeps_items(NodeId made, const ir::TypeEnvironment& types) const {
    const std::vector<Type> items = items_of(n_, types);
    const bool agree = shapes_agree(types);
    if (!std::ranges::all_of(items, [&](const Type& t) { return t.is_static() || agree; }))
      return false;
    return std::ranges::all_of(g_.node(made).regions, [&](RegionId r) {
      const NodeId copied = g_.region(r).nodes.front();
      try {
        return items_of(copied, types_in(g_, copied)) == items;
      } catch (const Error& e) {  // what the branch computes fits nothing that follows
        if (e.blame() == Blame::internal || ends_run(e)) throw;
        return false;
      }
    });
  }
  std::vector<Type> items_of(NodeId loop, const ir::TypeEnvironment& types) const {
    const auto& results = g_.region(g_.node(loop).loop().body).results;
    std::vector<Type> items;
    for (std::size_t k = 0; k < parts_.stacks; ++k)
      items.push_back(types.types[ir::index(results[1 + parts_.states + k])]);
    return items;
  }

  Graph& g_;
  const NodeId n_;
  const LoopParts parts_;
  std::vector<ValueId> read_;  ///< the loop's results that are read
  LoopRemarks remarks_;
};

/// Outer loops first: the copies of an outer loop may decide for the inner ones.
bool unswitch_once(Graph& g, Remarks* remarks) {
  bool changed = false;
  const std::vector<NodeId> loops = loops_inside_out(g);
  for (auto n = loops.rbegin(); n != loops.rend(); ++n) {
    check_cancellation();
    if (!g.is_erased(*n)) changed = Unswitching(g, *n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace

bool unswitch_loops(Graph& g, Remarks* remarks) {
  bool changed = false;
  while (unswitch_once(g, remarks)) changed = true;
  return changed;
}

}  // namespace rondel::passes
