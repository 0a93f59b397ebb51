#include "exporters/onnx/liveness.h"

#include <algorithm>

namespace rondel::exporters {

using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

LiveValues::LiveValues(const ir::Graph& g) : g_(g), values_(g.value_count(), false) {
  for (const ValueId v : g.root().results) add(v);
}

bool LiveValues::operator()(const ir::Node& n) const {
  return std::ranges::any_of(n.outputs, [&](ValueId v) { return (*this)(v); });
}

void LiveValues::add(ValueId v) {
  if (v == ValueId::none || values_[ir::index(v)]) return;
  std::vector<ValueId> open{v};
  const auto reach = [&](ValueId w) {
    if (w == ValueId::none || values_[ir::index(w)]) return;
    values_[ir::index(w)] = true;
    open.push_back(w);
  };
  values_[ir::index(v)] = true;
  while (!open.empty()) {
    const ValueId w = open.back();
    open.pop_back();
    if (g_.value(w).producer == NodeId::none) continue;
    const ir::Node& n = g_.node(g_.value(w).producer);
    for (const ValueId input : n.inputs) reach(input);
    for (const RegionId r : n.regions)
      for (const ValueId result : g_.region(r).results) reach(result);
  }
}

}  // namespace rondel::exporters
