// Of all that keeps a tree from being lowered, what the rest follows from.
#include "ir/infer.h"
#include "lowering/extent_expression.h"
#include "lowering/region_tree.h"

#include <algorithm>

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::ValueId;

void RegionTree::refuse(NodeId n, std::string why, std::string help) {
  refused_.push_back({n, ValueId::none, {std::move(why), std::move(help)}});
}

void RegionTree::refuse_itself(NodeId n, std::string why, std::string help) {
  refuse(n, std::move(why), std::move(help));
  refused_.back().own = true;
}

void RegionTree::refuse_all(std::string why) {
  refused_.push_back({NodeId::none, ValueId::none, {std::move(why)}});
}

void RegionTree::refuse(ValueId v, std::string why, std::string help) {
  refused_.push_back({NodeId::none, v, {std::move(why), std::move(help)}});
}

void RegionTree::refuse_type(ValueId v) {
  Refusal why = refusal_of(described(v), type(v));
  refuse(v, std::move(why.why), std::move(why.help));
}

void RegionTree::refuse_extents(ValueId v) {
  refuse(v, fmt::format("{} {}, and nothing bounds its extents", described(v), shown_type(v)),
         "compute them from shapes, constants or the trip");
}

/// The beginning of a sentence: "state 's' is", "node 'cell' (MatMul) makes".
std::string RegionTree::described(ValueId v) const {
  const ir::ValueInfo& info = g_.value(v);
  if (info.producer != NodeId::none && is_inside(v)) return ir::where(g_, info.producer) + " makes";
  const ir::Node* loop = is_inside(v) ? &g_.node(g_.region(info.region).parent) : nullptr;
  const auto state = static_cast<std::size_t>(info.position) - 2;
  const bool is_state = info.producer == NodeId::none && loop != nullptr && loop->is_loop() &&
                        info.position >= 2 && state < loop->loop().states;
  return fmt::format("{}{} is", is_state ? "state " : "", named(v));
}

bool RegionTree::is_inside(ValueId v) const {
  return std::ranges::any_of(g_.node(top_).regions,
                             [&](ir::RegionId r) { return g_.encloses(r, g_.value(v).region); });
}

/// The type with the model's own names of extents; what has none is shown as "?".
std::string RegionTree::shown_type(ValueId v) const {
  const ir::Type &t = type(v), &declared = g_.value(v).type;
  if (!t.is_tensor() || !t.has_rank()) return to_text(t);
  const bool same_rank = declared.is_tensor() && declared.has_rank() && declared.rank() == t.rank();
  ir::Extents extents = t.extents();
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (!extents[a].known()) {
      extents[a] = same_rank ? declared.extents()[a] : ir::Extent();
      if (extents[a].symbolic() && !extents[a].symbol.is_of_models()) extents[a] = {};
    }
  return to_text(ir::Type::tensor(t.dtype(), std::move(extents)));
}

/// Whether the value has native code, and its extents are known or have bounds before they are
/// needed.
bool RegionTree::is_known_in_time(ValueId v) const {
  return is_native(type(v)) && std::ranges::all_of(type(v).extents(), [&](const ir::Extent& e) {
           return extent_known(e) || bounds_.most(e).known_or_symbolic();
         });
}

/// Follows what is not known in time to the node, or the parameter of a region, where it begins.
class RegionTree::Causes {
 public:
  explicit Causes(const RegionTree& tree) : t_(tree), g_(tree.g_) {
    for (const Refused& r : tree.refused_)
      if (r.own) own_.insert(r.node);
    visit(t_.top_);
  }

  /// A node, or a value that no node inside of the tree makes.
  struct Cause {
    NodeId node = NodeId::none;
    ValueId value = ValueId::none;
    bool operator==(const Cause&) const = default;
  };

  Cause of(const Refused& r) const {
    const Cause itself = subject(r);
    if (r.value != ValueId::none && !values_.contains(r.value)) return itself;
    if (r.value != ValueId::none) return last(values_.at(r.value));
    const auto node = nodes_.find(r.node);
    return node == nodes_.end() ? itself : last(node->second);
  }
  /// The node that is refused or makes the value, or else the value.
  Cause subject(const Refused& r) const {
    if (r.node != NodeId::none || r.value == ValueId::none) return {r.node};
    const NodeId maker = g_.value(r.value).producer;
    return maker == NodeId::none || !t_.is_inside(r.value) ? Cause{NodeId::none, r.value}
                                                           : Cause{maker};
  }

 private:
  void visit(NodeId n) {
    const ir::Node& node = g_.node(n);
    std::vector<ValueId> read = node.inputs;
    for (const ir::RegionId r : t_.regions(n)) {
      if (node.is_loop()) begin_trip(node);
      for (const NodeId inner : g_.region(r).nodes) visit(inner);
      if (node.is_loop()) end_trip(node);
      read.insert(read.end(), g_.region(r).results.begin(), g_.region(r).results.end());
    }
    nodes_[n] = own_.contains(n) ? Cause{n} : cause_among(read).value_or(Cause{n});
    for (const ValueId v : node.outputs)
      if (v != ValueId::none && !t_.is_known_in_time(v)) values_[v] = nodes_[n];
  }

  /// States and elements of scans have what is wrong with what they begin as.
  void begin_trip(const ir::Node& loop) {
    const LoopParts& parts = loop.loop();
    const auto& params = g_.region(parts.body).params;
    for (std::size_t k = 2; k < params.size(); ++k)
      if (!t_.is_known_in_time(params[k]))
        values_[params[k]] = cause_among(std::span(&loop.inputs[parts.states_at() + k - 2], 1))
                                 .value_or(Cause{NodeId::none, params[k]});
  }
  /// A state is no cause if something else is wrong with its next value.
  void end_trip(const ir::Node& loop) {
    const LoopParts& parts = loop.loop();
    const ir::Region& body = g_.region(parts.body);
    for (std::size_t s = 0; s < parts.states; ++s) {
      const Cause state{NodeId::none, body.params[2 + s]};
      const auto at = values_.find(state.value);
      const auto next = cause_among(std::span(&body.results[1 + s], 1));
      if (at != values_.end() && at->second == state && next && !(last(*next) == state))
        later_.emplace(state.value, *next);
    }
  }

  /// The cause of one of these values that is not known in time: a node rather than a state.
  std::optional<Cause> cause_among(std::span<const ValueId> values) const {
    std::optional<Cause> found;
    for (const ValueId v : values) {
      if (v == ValueId::none || g_.constant(v) != nullptr || t_.is_known_in_time(v)) continue;
      const auto at = values_.find(v);
      const Cause here = at == values_.end() ? Cause{NodeId::none, v} : at->second;
      if (!found || (found->node == NodeId::none && here.node != NodeId::none)) found = here;
    }
    return found;
  }
  Cause last(Cause c) const {
    for (auto at = later_.find(c.value); c.node == NodeId::none && at != later_.end();
         at = later_.find(c.value))
      c = at->second;
    return c;
  }

  const RegionTree& t_;
  const ir::Graph& g_;
  std::set<NodeId> own_;             ///< causes, whatever they read
  std::map<ValueId, Cause> values_;  ///< of what is not known in time
  std::map<NodeId, Cause> nodes_;
  std::map<ValueId, Cause> later_;  ///< states, and the causes that their next values have
};

std::vector<Refusal> RegionTree::refusals() const {
  struct Group {
    Causes::Cause cause;
    std::optional<Refusal> of_cause = {};  ///< the first refusal of the cause itself
    std::vector<Causes::Cause> others = {};
    Refusal first = {};
  };
  if (refused_.empty()) return {};
  if (refused_[0].is_of_all()) return {refused_[0].what};  // types may not be known
  const Causes causes(*this);
  std::vector<Group> groups;
  for (const Refused& r : refused_) {
    const Causes::Cause cause = causes.of(r), subject = causes.subject(r);
    auto group = std::ranges::find(groups, cause, &Group::cause);
    if (group == groups.end())
      group = groups.insert(groups.end(), {.cause = cause, .first = r.what});
    if (!(subject == cause)) {
      if (std::ranges::count(group->others, subject) == 0) group->others.push_back(subject);
    } else if (!group->of_cause) {
      group->of_cause = r.what;
    }
  }
  std::vector<Refusal> all;
  for (Group& group : groups) {
    all.push_back(group.of_cause.value_or(group.first));
    all.back().followers = group.others.size();
  }
  return all;
}

}  // namespace rondel::lowering
