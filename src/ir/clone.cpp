#include "ir/clone.h"

namespace rondel::ir {

ValueId Cloner::operator()(ValueId original) {
  if (original == ValueId::none) return original;
  const auto it = copies_.find(original);
  if (it != copies_.end()) return it->second;
  const ValueId captured = capture_ ? capture_(original) : original;
  copies_.emplace(original, captured);
  return captured;
}

/// Copies a node with empty regions. `fill_regions` fills them later, after all nodes of the
/// enclosing region are copied.
NodeId Cloner::shell(NodeId original, RegionId into, NodeId before) {
  std::vector<ValueId> inputs;
  for (const ValueId v : from_.node(original).inputs) inputs.push_back((*this)(v));
  const Node& node = from_.node(original);
  std::vector<Type> types;
  for (const ValueId v : node.outputs)
    types.push_back(v == ValueId::none ? Type() : from_.value(v).type);
  std::vector<RegionId> regions;
  for (const RegionId r : node.regions) {
    regions.push_back(to_.add_region());
    unfilled_.emplace_back(r, regions.back());
  }
  const NodeId copy = node.is_loop()
                          ? to_.insert_loop(into, before, node.loop(), std::move(inputs), types,
                                            std::move(regions))
                          : to_.insert_node(into, before, *node.op, node.attributes,
                                            std::move(inputs), types, std::move(regions));
  to_.node(copy).source = node.source;
  for (std::size_t j = 0; j < types.size(); ++j) {
    const ValueId v = node.outputs[j];
    if (v == ValueId::none) {
      to_.leave_out_output(copy, j);
      continue;
    }
    const ValueId made = to_.node(copy).outputs[j];
    to_.value(made).name = from_.value(v).name;
    map(v, made);
  }
  return copy;
}

void Cloner::fill(RegionId original, RegionId copy) {
  for (const ValueId v : from_.region(original).params)
    map(v, to_.add_param(copy, from_.value(v).type, from_.value(v).name));
  for (const NodeId n : from_.region(original).nodes) shell(n, copy, NodeId::none);
  std::vector<ValueId> results;
  for (const ValueId v : from_.region(original).results) results.push_back((*this)(v));
  to_.set_results(copy, std::move(results));
}

NodeId Cloner::node(NodeId original, RegionId into, NodeId before) {
  const NodeId copy = shell(original, into, before);
  fill_regions();
  return copy;
}

RegionId Cloner::region(RegionId original) {
  const RegionId copy = to_.add_region();
  fill(original, copy);
  fill_regions();
  return copy;
}

void Cloner::fill_regions() {
  while (!unfilled_.empty()) {
    const auto [original, copy] = unfilled_.back();
    unfilled_.pop_back();
    fill(original, copy);
  }
}

RegionId clone_region(const Graph& from, RegionId r, Graph& to, Cloner::Capture capture) {
  return Cloner(from, to, std::move(capture)).region(r);
}

}  // namespace rondel::ir
