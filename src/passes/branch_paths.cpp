#include "passes/branch_paths.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <array>
#include <set>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::TypeEnvironment;
using ir::ValueId;

bool has_no_rank(const Type& t) { return t.is_tensor() && !t.has_rank(); }

/// A type of one element with all extents known.
bool is_certainly_one(const Type& t) {
  return t.is_tensor() && t.is_static() && element_count(t.static_shape()) == 1;
}

/// Whether the value has no rank because an `if` in its region gives unlike ranks.
bool comes_from_unlike_ranks(const Graph& g, const TypeEnvironment& k, ValueId v,
                             std::set<ValueId>& seen) {
  const NodeId maker = v == ValueId::none ? NodeId::none : g.value(v).producer;
  if (maker == NodeId::none || !has_no_rank(k.types[ir::index(v)]) || !seen.insert(v).second)
    return false;
  return gives_unlike_ranks(g, k, maker) ||
         std::ranges::any_of(g.node(maker).inputs, [&](ValueId x) {
           return x != ValueId::none && g.value(x).region == g.value(v).region &&
                  comes_from_unlike_ranks(g, k, x, seen);
         });
}

bool branches_are_unlike(const Graph& g, const TypeEnvironment& k, const Node& node,
                         std::size_t output) {
  const ValueId results[] = {g.region(node.regions[0]).results[output],
                             g.region(node.regions[1]).results[output]};
  const auto type = [&](ValueId v) -> const Type& { return k.types[ir::index(v)]; };
  if (!std::ranges::all_of(results, [&](ValueId v) { return type(v).is_tensor(); })) return false;
  if (type(results[0]).has_rank() && type(results[1]).has_rank())
    return type(results[0]).rank() != type(results[1]).rank();
  std::set<ValueId> seen;
  return std::ranges::all_of(results, [&](ValueId v) {
    return type(v).has_rank() || comes_from_unlike_ranks(g, k, v, seen);
  });
}

}  // namespace

bool gives_unlike_ranks(const Graph& g, const TypeEnvironment& k, NodeId n) {
  const Node& node = g.node(n);
  if (!is_if(node) || !is_certainly_one(k.types[ir::index(node.inputs[0])]) ||
      ir::taken_branch(node, k))
    return false;
  for (std::size_t j = 0; j < node.outputs.size(); ++j)
    if (g.is_read(node.outputs[j]) && has_no_rank(k.types[ir::index(node.outputs[j])]) &&
        branches_are_unlike(g, k, node, j))
      return true;
  return false;
}

bool PathFinder::find(std::span<const NodeId> nodes, std::span<const ValueId> results) {
  results_ = results;
  Steps ahead;
  for (const NodeId n : nodes) ahead.push_back({n});
  std::ranges::reverse(ahead);
  try {
    return follow(path, std::move(ahead));
  } catch (const Error& e) {
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    return refuse("what follows does not accept what each branch gives");
  }
}

bool PathFinder::refuse(const char* why) {
  if (why_not.empty()) why_not = why;
  return false;
}

bool PathFinder::follow(Path& p, Steps ahead) {
  while (!ahead.empty()) {
    const Path::Step step = ahead.back();
    const Node& node = g_.node(step.node);
    const bool taken = step.taken != RegionId::none;
    if (const auto branch = is_if(node) && !taken ? ir::taken_branch(node, k_) : std::nullopt) {
      ahead.back().taken = *branch;
      const auto& inner = g_.region(*branch).nodes;
      for (auto n = inner.rbegin(); n != inner.rend(); ++n) ahead.push_back({*n});
      continue;
    }
    if (taken) {
      take(step);
    } else {
      const std::size_t size = size_of(step.node);
      if (size > room_) return refuse("too much follows it");
      infer_(step.node);
      if (gives_unlike_ranks(g_, k_, step.node)) return decide(p, ahead);
      room_ -= size;
    }
    p.steps.push_back(step);
    ahead.pop_back();
  }
  return end();
}

/// A value that is known for a while.
class PathFinder::Known {
 public:
  Known(TypeEnvironment& k, ValueId v, Tensor value) : k_(k), key_(static_cast<std::int32_t>(v)) {
    k_.values.insert_or_assign(key_, std::move(value));
  }
  Known(const Known&) = delete;
  Known& operator=(const Known&) = delete;
  ~Known() { k_.values.erase(key_); }

 private:
  TypeEnvironment& k_;
  const std::int32_t key_;
};

/// Follows both branches of the `if` that is the next step.
bool PathFinder::decide(Path& p, const Steps& ahead) {
  p.decides = ahead.back().node;
  const ValueId condition = g_.node(p.decides).inputs[0];
  const Shape shape = k_.types[ir::index(condition)].static_shape();
  return std::ranges::all_of(std::array{true, false}, [&](bool value) {
    const Known known(k_, condition, Tensor::from<bool>(shape, {value}));
    return follow(p.next.emplace_back(), ahead);
  });
}

void PathFinder::take(const Path::Step& step) {
  const Node& node = g_.node(step.node);
  for (std::size_t j = 0; j < node.outputs.size(); ++j)
    if (node.outputs[j] != ValueId::none)
      k_.types[ir::index(node.outputs[j])] = k_.types[ir::index(g_.region(step.taken).results[j])];
}

bool PathFinder::end() {
  const bool first = types.empty();
  for (std::size_t j = 0; j < results_.size(); ++j) {
    const Type& t = k_.types[ir::index(results_[j])];
    const std::optional<Type> both = first ? t : ir::join(types[j], t);
    if (!both) return refuse("it has unlike types");
    if (first) types.push_back(*both);
    else types[j] = *both;
  }
  return true;
}

std::size_t PathFinder::size_of(NodeId n) const {
  std::size_t nodes = 1;
  for (const RegionId r : g_.node(n).regions)
    for (const RegionId inner : g_.regions_below(r)) nodes += g_.region(inner).nodes.size();
  return nodes;
}

namespace {

/// Copies paths into branches of new `if`s.
class PathCopy {
 public:
  PathCopy(Graph& g, std::span<const ValueId> results, std::span<const Type> types)
      : g_(g), results_(results), types_(types) {}

  std::vector<ValueId> run(const Path& p, RegionId r, NodeId before, ir::Cloner copy) {
    for (const Path::Step& step : p.steps)
      if (step.taken == RegionId::none) copy.node(step.node, r, before);
      else take(step, copy);
    std::vector<ValueId> results;
    if (p.decides != NodeId::none) results = branch(p, r, before, copy);
    else
      for (const ValueId v : results_) results.push_back(copy(v));
    return results;
  }

 private:
  void take(const Path::Step& step, ir::Cloner& copy) {
    const Node& node = g_.node(step.node);
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      copy.map(node.outputs[j], copy(g_.region(step.taken).results[j]));
  }
  std::vector<ValueId> branch(const Path& p, RegionId r, NodeId before, ir::Cloner& copy) {
    std::vector<RegionId> regions;
    for (const Path& next : p.next) {
      regions.push_back(g_.add_region());
      g_.set_results(regions.back(), run(next, regions.back(), NodeId::none, copy));
    }
    const NodeId made = g_.insert_node(r, before, ir::op("if"), {},
                                       {copy(g_.node(p.decides).inputs[0])}, types_, regions);
    g_.node(made).source = g_.node(p.decides).source;
    const std::vector<ValueId> outputs = g_.node(made).outputs;
    for (std::size_t j = 0; j < outputs.size(); ++j)
      g_.value(outputs[j]).name = g_.value(results_[j]).name;
    return outputs;
  }

  Graph& g_;
  const std::span<const ValueId> results_;
  const std::span<const Type> types_;
};

}  // namespace

std::vector<ValueId> copy_path(Graph& g, const Path& path, std::span<const ValueId> results,
                               std::span<const Type> types, RegionId r, NodeId before) {
  return PathCopy(g, results, types).run(path, r, before, ir::Cloner(g, g));
}

}  // namespace rondel::passes
