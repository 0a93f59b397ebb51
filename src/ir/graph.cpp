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

// ---- lists

std::int32_t NodeList::insert(std::int32_t at, NodeId n) {
  std::int32_t made = static_cast<std::int32_t>(links_.size());
  if (free_.empty()) {
    links_.emplace_back();
  } else {
    made = free_.back();
    free_.pop_back();
  }
  const auto link = [this](std::int32_t k) -> Link& { return links_[static_cast<std::size_t>(k)]; };
  const std::int32_t previous = at < 0 ? last_ : link(at).previous;
  link(made) = {n, previous, at};
  (previous < 0 ? first_ : link(previous).next) = made;
  (at < 0 ? last_ : link(at).previous) = made;
  ++size_;
  return made;
}

void NodeList::erase(std::int32_t k) {
  const Link gone = links_[static_cast<std::size_t>(k)];
  const auto link = [this](std::int32_t j) -> Link& { return links_[static_cast<std::size_t>(j)]; };
  (gone.previous < 0 ? first_ : link(gone.previous).next) = gone.next;
  (gone.next < 0 ? last_ : link(gone.next).previous) = gone.previous;
  free_.push_back(k);
  --size_;
}

const LoopParts& Node::loop() const {
  invariant(loop_ != nullptr, "'{}' is no loop", op->name);
  return *loop_;
}

// ---- uses

Graph::Graph() : regions_(1) {}

Operands& Graph::operands_of(const Use& u) {
  return u.node != NodeId::none ? node(u.node).inputs : region(u.region).results;
}

/// Adds the use to the use list of its value.
void Graph::link(Operands& list, Use use) {
  const ValueId v = list.items_[use.index];
  if (v == ValueId::none) return;
  auto& readers = value(v).uses.items_;
  list.slots_[use.index] = static_cast<std::uint32_t>(readers.size());
  readers.push_back(use);
}

/// Removes operand k from the use list of its value; the last use in the list takes its place.
void Graph::unlink(Operands& list, std::size_t k) {
  const ValueId v = list.items_[k];
  if (v == ValueId::none) return;
  auto& readers = value(v).uses.items_;
  const std::uint32_t slot = list.slots_[k];
  readers[slot] = readers.back();
  operands_of(readers[slot]).slots_[readers[slot].index] = slot;
  readers.pop_back();
}

void Graph::set(Operands& list, Use first, std::vector<ValueId> values) {
  for (std::size_t k = 0; k < list.size(); ++k) unlink(list, k);
  list.items_ = std::move(values);
  list.slots_.assign(list.size(), 0);
  for (first.index = 0; first.index < list.size(); ++first.index) link(list, first);
}

void Graph::set_inputs(NodeId n, std::vector<ValueId> inputs) {
  set(node(n).inputs, {.node = n}, std::move(inputs));
}

void Graph::set_results(RegionId r, std::vector<ValueId> results) {
  set(region(r).results, {.region = r}, std::move(results));
}

void Graph::set_input(NodeId n, std::size_t k, ValueId v) {
  Operands& inputs = node(n).inputs;
  unlink(inputs, k);
  inputs.items_[k] = v;
  link(inputs, {.node = n, .index = static_cast<std::uint32_t>(k)});
}

void Graph::set_result(RegionId r, std::size_t k, ValueId v) {
  Operands& results = region(r).results;
  unlink(results, k);
  results.items_[k] = v;
  link(results, {.region = r, .index = static_cast<std::uint32_t>(k)});
}

void Graph::replace_uses(ValueId from, ValueId to) {
  invariant(from != ValueId::none, "no value is replaced");
  if (from == to) return;
  const std::vector<Use> readers = std::move(value(from).uses.items_);
  value(from).uses.items_.clear();
  for (const Use& use : readers) {
    Operands& list = operands_of(use);
    list.items_[use.index] = to;
    link(list, use);
  }
}

void Graph::insert_input(NodeId n, std::size_t at, ValueId v) {
  std::vector<ValueId> inputs = node(n).inputs;
  inputs.insert(inputs.begin() + static_cast<std::ptrdiff_t>(at), v);
  set_inputs(n, std::move(inputs));
}

void Graph::erase_input(NodeId n, std::size_t at) {
  std::vector<ValueId> inputs = node(n).inputs;
  inputs.erase(inputs.begin() + static_cast<std::ptrdiff_t>(at));
  set_inputs(n, std::move(inputs));
}

void Graph::insert_result(RegionId r, std::size_t at, ValueId v) {
  std::vector<ValueId> results = region(r).results;
  results.insert(results.begin() + static_cast<std::ptrdiff_t>(at), v);
  set_results(r, std::move(results));
}

void Graph::erase_result(RegionId r, std::size_t at) {
  std::vector<ValueId> results = region(r).results;
  results.erase(results.begin() + static_cast<std::ptrdiff_t>(at));
  set_results(r, std::move(results));
}

// ---- outputs and parameters

ValueId Graph::add_param(RegionId r, Type type, std::string value_name) {
  return insert_param(r, region(r).params.size(), std::move(type), std::move(value_name));
}

/// Updates the positions of the values in the list that defines them.
void Graph::number(const ReadOnly<ValueId>& list) {
  for (std::size_t k = 0; k < list.size(); ++k)
    if (list[k] != ValueId::none) value(list[k]).position = static_cast<std::int32_t>(k);
}

ValueId Graph::insert_param(RegionId r, std::size_t at, Type type, std::string value_name) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back(
      {std::move(type), std::move(value_name), NodeId::none, r, static_cast<std::int32_t>(at), {}});
  auto& params = region(r).params;
  const bool last = at == params.size();
  params.items_.insert(params.begin() + static_cast<std::ptrdiff_t>(at), id);
  if (!last) number(params);
  return id;
}

ValueId Graph::input(InputRole role) const {
  for (const auto& [v, is] : roles)
    if (is == role) return v;
  return ValueId::none;
}

void Graph::erase_param(RegionId r, std::size_t at) {
  auto& params = region(r).params;
  invariant(!is_read(params[at]), "parameter {} that is taken out is read", at);
  params.items_.erase(params.begin() + static_cast<std::ptrdiff_t>(at));
  number(params);
}

ValueId Graph::insert_output(NodeId n, std::size_t at, Type type, std::string value_name) {
  const auto id = static_cast<ValueId>(values_.size());
  values_.push_back({std::move(type),
                     std::move(value_name),
                     n,
                     node(n).region,
                     static_cast<std::int32_t>(at),
                     {}});
  auto& outputs = node(n).outputs;
  outputs.items_.insert(outputs.begin() + static_cast<std::ptrdiff_t>(at), id);
  number(outputs);
  return id;
}

void Graph::erase_output(NodeId n, std::size_t at) {
  auto& outputs = node(n).outputs;
  invariant(!is_read(outputs[at]), "output {} that is taken out is read", at);
  outputs.items_.erase(outputs.begin() + static_cast<std::ptrdiff_t>(at));
  number(outputs);
}

void Graph::leave_out_output(NodeId n, std::size_t at) {
  auto& outputs = node(n).outputs;
  invariant(!is_read(outputs[at]), "output {} that is left out is read", at);
  outputs.items_[at] = ValueId::none;
}

namespace {

std::vector<ValueId> in_order(const ReadOnly<ValueId>& list, std::span<const std::size_t> order) {
  invariant(order.size() == list.size(), "an order of {} is given for {}", order.size(),
            list.size());
  std::vector<ValueId> now;
  for (const std::size_t k : order) now.push_back(list[k]);
  return now;
}

}  // namespace

void Graph::reorder_outputs(NodeId n, std::span<const std::size_t> order) {
  node(n).outputs.items_ = in_order(node(n).outputs, order);
  number(node(n).outputs);
}

void Graph::reorder_params(RegionId r, std::span<const std::size_t> order) {
  region(r).params.items_ = in_order(region(r).params, order);
  number(region(r).params);
}

// ---- nodes and regions

RegionId Graph::add_region() {
  regions_.emplace_back();
  return static_cast<RegionId>(regions_.size() - 1);
}

/// Puts the node into its region and registers the uses of its inputs.
NodeId Graph::place_node(RegionId r, NodeId before, Node&& made, std::span<const Type> outputs) {
  const auto id = static_cast<NodeId>(nodes_.size());
  nodes_.push_back(std::move(made));
  Node& n = node(id);
  n.region = r;
  n.inputs.slots_.assign(n.inputs.size(), 0);
  for (std::size_t k = 0; k < n.inputs.size(); ++k)
    link(n.inputs, {.node = id, .index = static_cast<std::uint32_t>(k)});
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    n.outputs.items_.push_back(static_cast<ValueId>(values_.size()));
    values_.push_back({outputs[j], {}, id, r, static_cast<std::int32_t>(j), {}});
  }
  for (const RegionId inner : n.regions) region(inner).parent = id;
  n.link_ = region(r).nodes.insert(before == NodeId::none ? -1 : node(before).link_, id);
  return id;
}

NodeId Graph::insert_node(RegionId r, NodeId before, const OpDef& def, Attributes attributes,
                          std::vector<ValueId> inputs, std::span<const Type> outputs,
                          std::vector<RegionId> regions) {
  Node made;
  made.op = &def;
  made.attributes = std::move(attributes);
  for (const auto& [key, usual] : def.attributes)
    if (!made.attributes.has(key)) made.attributes.set(key, usual);
  made.inputs.items_ = std::move(inputs);
  made.regions.items_ = std::move(regions);
  return place_node(r, before, std::move(made), outputs);
}

NodeId Graph::insert_loop(RegionId r, NodeId before, LoopParts parts, std::vector<ValueId> inputs,
                          std::span<const Type> outputs, std::vector<RegionId> bodies) {
  Node made;
  made.op = &op("loop");
  made.inputs.items_ = std::move(inputs);
  made.regions.items_ = std::move(bodies);
  const NodeId n = place_node(r, before, std::move(made), outputs);
  set_loop(n, std::move(parts));
  return n;
}

void Graph::set_loop(NodeId n, LoopParts parts) {
  const auto fill = [](Ints& list, std::size_t count) {
    if (list.empty()) list.resize(count, 0);
  };
  fill(parts.fixed, parts.states);
  fill(parts.keeps, parts.states);
  fill(parts.axis_in, parts.scans);
  fill(parts.reverse_in, parts.scans);
  fill(parts.axis_out, parts.stacks);
  fill(parts.reverse_out, parts.stacks);
  fill(parts.extents, parts.stacks);
  if (parts.declared.empty()) parts.declared.resize(parts.stacks);
  parts.body = node(n).regions.empty() ? RegionId::none : node(n).regions[0];
  node(n).loop_ = std::make_shared<const LoopParts>(std::move(parts));
}

void Graph::erase_node(NodeId n) {
  invariant(!is_erased(n), "a node is taken out twice");
  region(node(n).region).nodes.erase(node(n).link_);
  std::vector<NodeId> gone{n};
  while (!gone.empty()) {
    const NodeId id = gone.back();
    gone.pop_back();
    set_inputs(id, {});
    node(id).region = RegionId::none;
    for (const RegionId r : node(id).regions) {
      set_results(r, {});
      gone.insert(gone.end(), region(r).nodes.begin(), region(r).nodes.end());
      region(r).nodes = {};
    }
  }
}

bool Graph::erase_nodes(RegionId r, const std::function<bool(NodeId)>& dead) {
  const std::vector<NodeId> nodes = region(r).nodes;
  bool any = false;
  for (auto n = nodes.rbegin(); n != nodes.rend(); ++n) {
    if (!dead(*n)) continue;
    erase_node(*n);
    any = true;
  }
  return any;
}

NodeId Graph::next(NodeId n) const {
  const NodeList& list = region(node(n).region).nodes;
  const std::int32_t after = list.links_[static_cast<std::size_t>(node(n).link_)].next;
  return after < 0 ? NodeId::none : list.links_[static_cast<std::size_t>(after)].node;
}

void Graph::move_nodes(RegionId from, NodeId before) {
  const RegionId into = node(before).region;
  const NodeList moved = std::move(region(from).nodes);
  region(from).nodes = {};
  for (const NodeId n : moved) {
    node(n).region = into;
    node(n).link_ = region(into).nodes.insert(node(before).link_, n);
    for (const ValueId v : node(n).outputs)
      if (v != ValueId::none) value(v).region = into;
  }
}

// ---- queries

const Tensor* Graph::constant(ValueId v) const {
  if (v == ValueId::none || value(v).producer == NodeId::none) return nullptr;
  const Node& n = node(value(v).producer);
  if (n.op->name != "constant") return nullptr;
  return &n.attributes.tensor("value");
}

bool Graph::hands_on_condition(NodeId n) const {
  const LoopParts& loop = node(n).loop();
  const Region& body = region(loop.body);
  return !loop.has_go && is_read(body.params[1]) && body.results[0] != body.params[1];
}

bool Graph::encloses(RegionId outer, RegionId inner) const {
  while (inner != outer) {
    const NodeId parent = region(inner).parent;
    if (parent == NodeId::none) return false;
    inner = node(parent).region;
  }
  return true;
}

std::vector<RegionId> Graph::regions_below(RegionId r) const {
  std::vector<RegionId> all{r};
  for (std::size_t k = 0; k < all.size(); ++k)
    for (const NodeId n : region(all[k]).nodes)
      all.insert(all.end(), node(n).regions.begin(), node(n).regions.end());
  return all;
}

std::vector<ValueId> Graph::captures(RegionId r) const {
  const std::vector<RegionId> below = regions_below(r);
  const std::unordered_set<RegionId> inside(below.begin(), below.end());
  std::vector<ValueId> found;
  std::unordered_set<ValueId> seen;
  const auto use = [&](ValueId v) {
    if (v != ValueId::none && !inside.contains(value(v).region) && seen.insert(v).second)
      found.push_back(v);
  };
  // In the order of the text form: a node, the contents of its regions, the next node.
  struct Visit {
    RegionId region;
    NodeList::Position at;
    std::size_t inner = 0;  // the next of the regions of the node at `at`
  };
  std::vector<Visit> open{{r, region(r).nodes.begin()}};
  while (!open.empty()) {
    Visit& here = open.back();
    const NodeList& nodes = region(here.region).nodes;
    if (here.at == nodes.end()) {
      for (const ValueId v : region(here.region).results) use(v);
      open.pop_back();
      continue;
    }
    const Node& n = node(*here.at);
    if (here.inner == 0)
      for (const ValueId v : n.inputs) use(v);
    if (here.inner == n.regions.size()) {
      ++here.at;
      here.inner = 0;
      continue;
    }
    const RegionId inner = n.regions[here.inner++];
    open.push_back({inner, region(inner).nodes.begin()});
  }
  return found;
}

namespace {

void collect_loops(const Graph& g, RegionId r, std::vector<NodeId>& loops) {
  for (const NodeId n : g.region(r).nodes) {
    for (const RegionId inner : g.node(n).regions) collect_loops(g, inner, loops);
    if (g.node(n).is_loop()) loops.push_back(n);
  }
}

}  // namespace

std::vector<NodeId> loops_inside_out(const Graph& g) {
  std::vector<NodeId> loops;
  collect_loops(g, RegionId::root, loops);
  return loops;
}

}  // namespace rondel::ir
