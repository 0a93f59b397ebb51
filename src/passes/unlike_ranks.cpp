#include "passes/unlike_ranks.h"

#include "base/cancellation.h"
#include "base/error.h"

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

/// The nodes on all paths of a knot together.
constexpr std::size_t most_copied_nodes = 128;

/// In nested loops whose states widen, the rounds multiply.
constexpr std::size_t most_visits_per_node = 200, most_visits = 100'000;

bool is_ranked(const Type& t) { return t.is_tensor() && t.has_rank(); }

}  // namespace

/// Collects the nodes of a knot.
class RankKnots::Members {
 public:
  Members(const Graph& g, const ir::TypeEnvironment& k, RegionId r) : g_(g), k_(k), r_(r) {
    for (const NodeId n : g.region(r).nodes) {
      places_.emplace(n, order_.size());
      order_.push_back(n);
    }
  }

  void begin(NodeId first) { members_.insert(places_.at(first)); }
  std::size_t size() const { return members_.size(); }
  /// Adds what reads the values, and what must move with it. False if a region gives one.
  bool add_readers(std::span<const ValueId> values) {
    for (const ValueId v : values)
      for (const ir::Use& use : g_.value(v).uses) {
        const NodeId reader = reader_of(use);
        if (reader == NodeId::none) return false;
        add(reader);
      }
    do
      while (!open_.empty()) {
        const NodeId n = open_.back();
        open_.pop_back();
        add_deciding(n);
      }
    while (add_between());
    return true;
  }

  std::vector<NodeId> nodes() const {
    std::vector<NodeId> list;
    for (const std::size_t at : members_) list.push_back(order_[at]);
    return list;
  }
  /// Nodes between the members that read what members make, also through others.
  std::vector<NodeId> readers() const {
    std::vector<NodeId> list;
    std::set<NodeId> found;
    for (std::size_t at = *members_.begin(); at < *members_.rbegin(); ++at) {
      const auto reads_one = [&](ValueId v) {
        const NodeId maker = g_.value(v).producer;
        return maker != NodeId::none && (found.contains(maker) || is_member(maker));
      };
      if (members_.contains(at) || std::ranges::none_of(reads(order_[at]), reads_one)) continue;
      found.insert(order_[at]);
      list.push_back(order_[at]);
    }
    return list;
  }
  std::vector<ValueId> results() const {
    std::vector<ValueId> list;
    for (const std::size_t at : members_)
      for (const ValueId v : g_.node(order_[at]).outputs)
        if (v != ValueId::none && std::ranges::any_of(g_.value(v).uses, [&](const ir::Use& use) {
              const NodeId reader = reader_of(use);
              return reader == NodeId::none || !is_member(reader);
            }))
          list.push_back(v);
    return list;
  }

 private:
  bool is_member(NodeId n) const {
    const auto at = places_.find(n);
    return at != places_.end() && members_.contains(at->second);
  }
  void add(NodeId n) {
    if (members_.insert(places_.at(n)).second) open_.push_back(n);
  }
  bool has_rank(ValueId v) const { return is_ranked(k_.types[ir::index(v)]); }
  /// The node of the region that reads a value here, itself or inside of it; none: the region.
  NodeId reader_of(const ir::Use& use) const {
    NodeId n = use.node;
    if (n == NodeId::none && use.region != r_) n = g_.region(use.region).parent;
    while (n != NodeId::none && g_.node(n).region != r_) n = g_.region(g_.node(n).region).parent;
    return n;
  }
  std::vector<ValueId> reads(NodeId n) const {
    std::vector<ValueId> list;
    std::ranges::copy_if(g_.node(n).inputs, std::back_inserter(list),
                         [](ValueId v) { return v != ValueId::none; });
    for (const RegionId r : g_.node(n).regions) {
      const std::vector<ValueId> captured = g_.captures(r);
      list.insert(list.end(), captured.begin(), captured.end());
    }
    return list;
  }
  /// The `if`s that give unlike ranks which the node reads.
  void add_deciding(NodeId n) {
    for (const ValueId v : reads(n)) {
      const NodeId maker = g_.value(v).producer;
      if (places_.contains(maker) && !has_rank(v) && gives_unlike_ranks(g_, k_, maker)) add(maker);
    }
  }
  /// Those that read what members make and are read by members; true if there are any.
  bool add_between() {
    const std::vector<NodeId> readers = this->readers();
    const std::set<NodeId> between(readers.begin(), readers.end());
    for (const NodeId n : nodes())
      for (const ValueId v : reads(n))
        if (between.contains(g_.value(v).producer)) add(g_.value(v).producer);
    return !open_.empty();
  }

  const Graph& g_;
  const ir::TypeEnvironment& k_;
  const RegionId r_;
  std::map<NodeId, std::size_t> places_;
  std::vector<NodeId> order_;
  std::set<std::size_t> members_;
  std::vector<NodeId> open_;
};

void RankKnots::find(const std::set<NodeId>& left) {
  found.clear();
  why_not.clear();
  items_before.clear();
  items_after.clear();
  k_ = ir::named_type_environment(g_);
  left_ = left;
  region(RegionId::root);
}

/// Infers the types in a region, and finds its knots and those inside of its nodes.
void RankKnots::region(RegionId r) {
  const std::size_t mark = found.size();
  std::vector<RankKnot> own;
  std::set<NodeId> resolved, tried;
  for (bool again = true; again;) {
    again = false;
    found.resize(mark);
    for (const NodeId n : g_.region(r).nodes)
      if (!resolved.contains(n)) node(n);
    if (depth_ == 0) return;
    for (const NodeId n : g_.region(r).nodes) {
      if (again || resolved.contains(n) || !is_in_the_way(n) || !tried.insert(n).second) continue;
      again = resolve(r, n, resolved);
      if (!again) continue;
      own.push_back(std::move(found.back()));
      resolved.insert(own.back().nodes.begin(), own.back().nodes.end());
    }
  }
  std::ranges::move(own, std::back_inserter(found));
}

void RankKnots::node(NodeId n) {
  const Node& node = g_.node(n);
  if (depth_ > 0 && ++visits_ > most_visits + most_visits_per_node * g_.node_count())
    throw_error_at(Blame::limit, ir::where(g_, n), "the ranks in loops take too long to find");
  if (node.is_loop()) return depth_ == 0 ? outer_loop(n) : loop(n);
  // In loops, a node that does not go with the ranks that its inputs would have keeps them unknown.
  if (node.regions.empty() || ir::taken_branch(node, k_))
    return depth_ == 0 ? ir::infer_kept_node(g_, n, k_) : ir::infer_node(g_, n, k_);
  for (const RegionId r : node.regions) region(r);
  ir::infer_from_regions(g_, n, k_);
}

/// Outside of loops each extent that is not known has a name: it is known when a loop begins. In
/// loops those that data decide, or that differ from trip to trip, have none.
void RankKnots::outer_loop(NodeId n) {
  if (!ir::rule_holds(g_, n)) return ir::infer_kept_node(g_, n, k_);
  const std::size_t mark = found.size();
  k_.name_unknowns = false;
  visits_ = 0;
  ir::infer_node(g_, n, k_);
  note_items(n, items_before);
  try {
    loop(n);
  } catch (const Error& e) {  // with all ranks, what never runs may prove to be wrong
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    depth_ = 0;
    found.resize(mark);
    ir::infer_node(g_, n, k_);
  }
  note_items(n, items_after);
  k_.name_unknowns = true;
  if (found.size() == mark) ir::infer_node(g_, n, k_);
}

void RankKnots::loop(NodeId n) {
  const std::size_t mark = found.size();
  ir::infer_node(g_, n, k_);  // the elements of scans
  ++depth_;
  body_until_states_hold(n);
  --depth_;
  if (ir::infer_from_regions(g_, n, k_)) return;
  found.resize(mark);
  ir::infer_node(g_, n, k_);
}

void RankKnots::body_until_states_hold(NodeId n) {
  const LoopParts parts(g_.node(n));
  const ir::Region& body = g_.region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s)
    k_.types[ir::index(body.params[2 + s])] =
        k_.types[ir::index(g_.node(n).inputs[parts.states_at() + s])];
  const std::size_t mark = found.size();
  do {
    found.resize(mark);
    region(parts.body);
  } while (widen(n));
}

/// Joins the types of the states with those of their next values; true if one is wider now.
bool RankKnots::widen(NodeId n) {
  const LoopParts parts(g_.node(n));
  const ir::Region& body = g_.region(parts.body);
  bool wider = false;
  for (std::size_t s = 0; s < parts.states; ++s) {
    Type& state = k_.types[ir::index(body.params[2 + s])];
    const std::optional<Type> both = ir::join(state, k_.types[ir::index(body.results[1 + s])]);
    if (parts.fixed[s] != 0 || !both || *both == state) continue;
    state = *both;
    wider = true;
  }
  return wider;
}

void RankKnots::note_items(NodeId outermost, std::map<NodeId, std::vector<Type>>& items) const {
  const auto note = [&](NodeId n) {
    const LoopParts parts(g_.node(n));
    const auto& results = g_.region(parts.body).results;
    std::vector<Type>& types = items[n];
    types.clear();
    for (std::size_t s = 0; s < parts.stacks; ++s)
      types.push_back(k_.types[ir::index(results[1 + parts.states + s])]);
  };
  note(outermost);
  for (const RegionId r : g_.regions_below(g_.node(outermost).loop().body))
    for (const NodeId n : g_.region(r).nodes)
      if (g_.node(n).is_loop()) note(n);
}

/// Whether the rank is known neither now nor when the loop begins.
bool RankKnots::is_in_the_way(NodeId n) const {
  std::set<ValueId> seen;
  return gives_unlike_ranks(g_, k_, n) && !follows_from_shapes(g_.node(n).inputs[0], seen);
}

/// Whether the value is known when the shapes of all that the loop reads are.
bool RankKnots::follows_from_shapes(ValueId v, std::set<ValueId>& seen) const {
  if (v == ValueId::none || k_.value(v) != nullptr || !seen.insert(v).second) return true;
  if (const auto list = k_.elements.find(static_cast<std::int32_t>(v)); list != k_.elements.end())
    return std::ranges::all_of(list->second, [&](const ir::Integer& i) {
      return i.known_or_symbolic() && !k_.trips.changes(i);
    });
  const NodeId maker = g_.value(v).producer;
  return maker != NodeId::none && g_.node(maker).regions.empty() && !g_.node(maker).op->random &&
         !g_.node(maker).inputs.empty() &&
         std::ranges::all_of(g_.node(maker).inputs,
                             [&](ValueId x) { return follows_from_shapes(x, seen); });
}

/// Whether `n` begins a knot that can be resolved: it is added to `found`, and its results have
/// their types from now on.
bool RankKnots::resolve(RegionId r, NodeId n, const std::set<NodeId>& resolved) {
  why_not.erase(n);
  if (left_.contains(n)) return false;
  std::optional<RankKnot> knot = grow(r, n);
  if (!knot || std::ranges::any_of(knot->nodes, [&](NodeId m) { return resolved.contains(m); }))
    return false;
  for (std::size_t j = 0; j < knot->results.size(); ++j)
    k_.types[ir::index(knot->results[j])] = knot->types[j];
  found.push_back(*std::move(knot));
  return true;
}

/// The smallest knot whose results have ranks.
std::optional<RankKnot> RankKnots::grow(RegionId r, NodeId n) {
  const auto refuse = [&](std::string why) {
    why_not[n] = std::move(why);
    return std::nullopt;
  };
  Members members(g_, k_, r);
  members.begin(n);
  while (members.size() <= most_copied_nodes) {
    RankKnot knot{r, n, members.nodes(), members.readers(), members.results(), {}, {}};
    if (knot.results.empty()) return std::nullopt;
    PathFinder paths(
        g_, k_, [this](NodeId m) { on_path(m); }, most_copied_nodes);
    if (!follow(paths, knot)) return refuse(paths.why_not);
    std::vector<ValueId> unlike;
    for (std::size_t j = 0; j < knot.results.size(); ++j)
      if (!is_ranked(paths.types[j])) unlike.push_back(knot.results[j]);
    knot.types = std::move(paths.types);
    knot.path = std::move(paths.path);
    if (unlike.empty()) return knot;
    if (!members.add_readers(unlike)) return refuse("what follows has unlike ranks, too");
  }
  return refuse("too much follows it");
}

/// Infers a node with what its own knots give if they are resolved in its copies.
void RankKnots::on_path(NodeId n) {
  const std::size_t mark = found.size();
  node(n);
  found.resize(mark);
}

/// Leaves the types as they were.
bool RankKnots::follow(PathFinder& paths, const RankKnot& knot) {
  const std::map<ValueId, Type> before = types_of(knot.nodes);
  const int depth = depth_;
  const bool found = paths.find(knot.nodes, knot.results);
  for (const auto& [v, type] : before) {
    forget(v);
    k_.types[ir::index(v)] = type;
  }
  depth_ = depth;  // an error may have ended an inner loop
  return found;
}

/// The types of what the nodes make, and of all inside of them.
std::map<ValueId, Type> RankKnots::types_of(std::span<const NodeId> nodes) const {
  std::map<ValueId, Type> types;
  const auto note = [&](std::span<const ValueId> values) {
    for (const ValueId v : values)
      if (v != ValueId::none) types.emplace(v, k_.types[ir::index(v)]);
  };
  for (const NodeId n : nodes) {
    note(g_.node(n).outputs);
    for (const RegionId outer : g_.node(n).regions)
      for (const RegionId r : g_.regions_below(outer)) {
        note(g_.region(r).params);
        for (const NodeId inner : g_.region(r).nodes) note(g_.node(inner).outputs);
      }
  }
  return types;
}

/// Forgets what is known of a value on one path.
void RankKnots::forget(ValueId v) {
  k_.values.erase(static_cast<std::int32_t>(v));
  k_.elements.erase(static_cast<std::int32_t>(v));
  k_.same.erase(static_cast<std::int32_t>(v));
}

}  // namespace rondel::passes
