#include "lowering/states_last.h"

#include "ir/infer.h"
#include "ir/loop_parts.h"
#include "ops/meaning.h"

#include <algorithm>
#include <map>
#include <set>

namespace rondel::lowering {
namespace {

using ir::NodeId;
using ir::ValueId;

class Ordering {
 public:
  Ordering(const ir::Graph& g, ir::RegionId r)
      : g_(g), region_(r), nodes_(g.region(r).nodes.begin(), g.region(r).nodes.end()) {}

  std::vector<NodeId> run() {
    const ir::Region& body = g_.region(region_);
    const std::size_t states = ir::LoopParts(g_.node(body.parent)).states;
    find_places();
    for (std::size_t s = 0; s < states; ++s) {
      const ValueId old = body.params[2 + s], next = body.results[1 + s];
      if (const NodeId n = g_.value(next).producer; n != NodeId::none && is_here(n))
        maker_.emplace(old, n);
    }
    for (std::size_t s = 0; s < states; ++s)
      if (const auto it = maker_.find(body.params[2 + s]); it != maker_.end())
        delay(it->first, it->second);
    return std::move(nodes_);
  }

 private:
  void find_places() {
    for (std::size_t k = 0; k < nodes_.size(); ++k) place_[nodes_[k]] = k;
  }
  bool is_here(NodeId n) const { return g_.node(n).region == region_; }

  /// The places of the nodes of the region that read v, themselves or in their regions, which may
  /// also hand it on as a result.
  std::vector<std::size_t> readers(ValueId v) const {
    std::vector<std::size_t> all;
    for (const ir::Use& use : g_.value(v).uses) {
      if (use.node == NodeId::none && use.region == region_) continue;
      NodeId n = use.node != NodeId::none ? use.node : g_.region(use.region).parent;
      while (!is_here(n)) n = g_.region(g_.node(n).region).parent;
      all.push_back(place_.at(n));
    }
    return all;
  }

  /// The last place that reads a state, or a view of it, which may be read where the state lies.
  std::size_t last_reader(ValueId v) const {
    std::size_t last = 0;
    for (const std::size_t k : readers(v)) {
      const ir::Node& node = g_.node(nodes_[k]);
      last = std::max(last, k);
      if (ops::meaning_as<ops::ViewMeaning>(*node.op) != nullptr && node.inputs[0] == v)
        for (const ValueId view : node.outputs)
          if (view != ValueId::none) last = std::max(last, last_reader(view));
    }
    return last;
  }

  /// Moves what makes the next value of a state behind what reads the state.
  void delay(ValueId old, NodeId maker) {
    const std::size_t last = last_reader(old);
    if (last <= place_.at(maker) || !may_move(maker)) return;
    const std::set<NodeId> moved = with_own_makers(maker);
    const std::size_t end = first_reader(moved);
    if (end <= last || written_between(moved, place_.at(maker), end)) return;
    std::vector<NodeId> others, late;
    for (std::size_t k = 0; k < end; ++k)
      (moved.contains(nodes_[k]) ? late : others).push_back(nodes_[k]);
    std::ranges::copy(late, std::ranges::copy(others, nodes_.begin()).out);
    find_places();
  }

  bool may_move(NodeId n) const { return g_.node(n).regions.empty() && !ir::can_fail(g_, n); }

  /// The node, and those before it whose results only they read.
  std::set<NodeId> with_own_makers(NodeId last) const {
    std::set<NodeId> all{last};
    for (std::size_t k = place_.at(last); k-- > 0;) {
      const NodeId n = nodes_[k];
      const bool own = may_move(n) && std::ranges::all_of(g_.node(n).outputs, [&](ValueId v) {
                         return v == ValueId::none ||
                                std::ranges::all_of(g_.value(v).uses, [&](const ir::Use& use) {
                                  return use.node != NodeId::none && all.contains(use.node);
                                });
                       });
      if (own) all.insert(n);
    }
    return all;
  }

  /// The place of the first other node that reads a result of these; the number of nodes if there
  /// is none.
  std::size_t first_reader(const std::set<NodeId>& of) const {
    std::size_t first = nodes_.size();
    for (const NodeId n : of)
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none)
          for (const std::size_t k : readers(v))
            if (!of.contains(nodes_[k])) first = std::min(first, k);
    return first;
  }

  /// Whether the next value of another state that these read is made between two places.
  bool written_between(const std::set<NodeId>& readers, std::size_t from, std::size_t to) const {
    return std::ranges::any_of(readers, [&](NodeId n) {
      return std::ranges::any_of(g_.node(n).inputs, [&](ValueId v) {
        const auto made = maker_.find(v);
        return made != maker_.end() && !readers.contains(made->second) &&
               place_.at(made->second) > from && place_.at(made->second) < to;
      });
    });
  }

  const ir::Graph& g_;
  const ir::RegionId region_;
  std::vector<NodeId> nodes_;
  std::map<NodeId, std::size_t> place_;
  std::map<ValueId, NodeId> maker_;  ///< by state: the node that makes its next value
};

}  // namespace

std::vector<NodeId> states_last(const ir::Graph& g, ir::RegionId r) {
  const NodeId around = g.region(r).parent;
  if (around == NodeId::none || !g.node(around).is_loop())
    return {g.region(r).nodes.begin(), g.region(r).nodes.end()};
  return Ordering(g, r).run();
}

}  // namespace rondel::lowering
