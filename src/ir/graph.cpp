#include "ir/graph.h"

#include "base/error.h"

#include <algorithm>
#include <unordered_set>

namespace rondel::ir {

const char* name(InputRole role) {
  switch (role) {
    case InputRole::seed: return "seed";
  }
  return "?";
}

Graph::Graph() : regions_(1) {}

ValueId Graph::add_param(RegionId r, Type type, std::string value_name) {
  const auto id = static_cast<ValueId>(values_.size());
  auto& params = region(r).params;
  values_.push_back({std::move(type), std::move(value_name), NodeId::none, r,
                     static_cast<std::int32_t>(params.size())});
  params.push_back(id);
  return id;
}

ValueId Graph::input(InputRole role) const {
  for (const auto& [v, is] : roles)
    if (is == role) return v;
  return ValueId::none;
}

RegionId Graph::add_region() {
  regions_.emplace_back();
  return static_cast<RegionId>(regions_.size() - 1);
}

NodeId Graph::add_node(RegionId r, const OpDef& op, Attributes attributes,
                       std::vector<ValueId> inputs, std::span<const Type> outputs,
                       std::vector<RegionId> regions) {
  return insert_node(r, region(r).nodes.size(), op, std::move(attributes), std::move(inputs),
                     outputs, std::move(regions));
}

NodeId Graph::insert_node(RegionId r, std::size_t at, const OpDef& op, Attributes attributes,
                          std::vector<ValueId> inputs, std::span<const Type> outputs,
                          std::vector<RegionId> regions) {
  const auto id = static_cast<NodeId>(nodes_.size());
  Node node{&op, std::move(attributes), std::move(inputs), {}, std::move(regions), r, {}};
  for (const auto& [name, value] : op.attributes)
    if (!node.attributes.has(name)) node.attributes.set(name, value);
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    node.outputs.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({outputs[j], {}, id, r, static_cast<std::int32_t>(j)});
  }
  for (const RegionId inner : node.regions) region(inner).parent = id;
  nodes_.push_back(std::move(node));
  auto& list = region(r).nodes;
  list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), id);
  return id;
}

Graph::AddedState Graph::add_state(NodeId loop, ValueId initial, ValueId next, const Type& type,
                                   std::string name) {
  LoopParts parts(node(loop));
  const auto at = static_cast<std::ptrdiff_t>(parts.states);
  const ValueId param = add_param(parts.body, type, std::move(name));
  const auto final = static_cast<ValueId>(values_.size());
  values_.push_back({type, {}, loop, node(loop).region, 0});

  auto& params = region(parts.body).params;
  std::rotate(params.begin() + 2 + at, params.end() - 1, params.end());
  auto& results = region(parts.body).results;
  results.insert(results.begin() + 1 + at, next == ValueId::none ? param : next);
  auto& inputs = node(loop).inputs;
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(parts.states_at()) + at, initial);
  auto& outputs = node(loop).outputs;
  outputs.insert(outputs.begin() + at, final);
  for (const auto* list : {&params, &outputs})
    for (std::size_t k = 0; k < list->size(); ++k)
      if ((*list)[k] != ValueId::none) value((*list)[k]).position = static_cast<std::int32_t>(k);

  ++parts.states;
  parts.fixed.push_back(0);
  parts.keeps.push_back(0);
  node(loop).attributes = parts.attributes();
  return {param, final};
}

std::size_t Graph::position_of(NodeId n) const {
  const auto& list = region(node(n).region).nodes;
  return static_cast<std::size_t>(std::ranges::find(list, n) - list.begin());
}

void Graph::erase_node(NodeId n) { std::erase(region(node(n).region).nodes, n); }

void Graph::replace_uses(ValueId from, ValueId to) {
  for (Node& n : nodes_) std::replace(n.inputs.begin(), n.inputs.end(), from, to);
  for (Region& r : regions_) std::replace(r.results.begin(), r.results.end(), from, to);
}

const Tensor* Graph::constant(ValueId v) const {
  if (v == ValueId::none || value(v).producer == NodeId::none) return nullptr;
  const Node& n = node(value(v).producer);
  if (n.op->name != "constant") return nullptr;
  return &n.attributes.tensor("value");
}

bool Graph::encloses(RegionId outer, RegionId inner) const {
  while (inner != outer) {
    const NodeId parent = region(inner).parent;
    if (parent == NodeId::none) return false;
    inner = node(parent).region;
  }
  return true;
}

std::vector<ValueId> Graph::captures(RegionId r) const {
  std::vector<ValueId> found;
  std::unordered_set<std::int32_t> seen;
  auto use = [&](ValueId v) {
    if (v == ValueId::none || encloses(r, value(v).region)) return;
    if (seen.insert(static_cast<std::int32_t>(v)).second) found.push_back(v);
  };
  auto visit = [&](auto&& self, RegionId here) -> void {
    for (const NodeId n : region(here).nodes) {
      for (const ValueId v : node(n).inputs) use(v);
      for (const RegionId inner : node(n).regions) self(self, inner);
    }
    for (const ValueId v : region(here).results) use(v);
  };
  visit(visit, r);
  return found;
}

LoopParts::LoopParts(const Node& n)
    : has_trips(n.attributes.flag("trips")), has_go(n.attributes.flag("go")),
      states(static_cast<std::size_t>(n.attributes.i("states"))),
      scans(static_cast<std::size_t>(n.attributes.i("scans"))),
      stacks(static_cast<std::size_t>(n.attributes.i("stacks"))), fixed(n.attributes.ints("fixed")),
      keeps(n.attributes.ints("keeps")), axis_in(n.attributes.ints("axis_in")),
      reverse_in(n.attributes.ints("reverse_in")), axis_out(n.attributes.ints("axis_out")),
      reverse_out(n.attributes.ints("reverse_out")), extents(n.attributes.ints("extents")),
      declared(n.attributes.types("declared")), body(n.regions.at(0)) {
  fixed.resize(states, 0);
  keeps.resize(states, 0);
  axis_in.resize(scans, 0);
  reverse_in.resize(scans, 0);
  axis_out.resize(stacks, 0);
  reverse_out.resize(stacks, 0);
  extents.resize(stacks, 0);
}

std::size_t LoopParts::extent_at(std::size_t k) const {
  std::size_t at = scans_at() + scans;
  for (std::size_t j = 0; j < k; ++j) at += has_extent(j) ? 1U : 0U;
  return at;
}

std::size_t LoopParts::input_count() const { return extent_at(stacks); }

Attributes LoopParts::attributes() const {
  Ints kept = keeps;
  kept.resize(states, 0);
  return {{"trips", std::int64_t{has_trips}},
          {"go", std::int64_t{has_go}},
          {"states", static_cast<std::int64_t>(states)},
          {"scans", static_cast<std::int64_t>(scans)},
          {"stacks", static_cast<std::int64_t>(stacks)},
          {"fixed", fixed},
          {"keeps", kept},
          {"axis_in", axis_in},
          {"reverse_in", reverse_in},
          {"axis_out", axis_out},
          {"reverse_out", reverse_out},
          {"extents", extents},
          {"declared", declared}};
}

}  // namespace rondel::ir
