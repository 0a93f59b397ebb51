#include "gradients/influence.h"

#include "base/cancellation.h"
#include "ops/gradients.h"

#include <algorithm>

namespace rondel::gradients {

using ir::Node;
using ir::ValueId;

bool has_adjoint(const ir::Graph& g, ValueId v) {
  if (v == ValueId::none) return false;
  const ir::Type& t = g.value(v).type;
  return t.kind() != ir::Type::Kind::none && is_float(t.dtype());
}

void Influence::spread(ir::RegionId r) {
  for (const ir::NodeId n : g_.region(r).nodes) {
    check_cancellation();
    if (g_.node(n).is_loop()) spread_loop(n);
    else spread_node(n);
  }
}

bool Influence::pass_on(ValueId from, ValueId to) {
  if (!contains(from) || !has_adjoint(g_, to)) return false;
  return influenced_.insert(to).second;
}

void Influence::spread_node(ir::NodeId n) {
  const Node& node = g_.node(n);
  if (ops::stops_flow(*node.op)) return;
  for (const ir::RegionId r : node.regions) {
    spread(r);
    for (std::size_t j = 0; j < node.outputs.size(); ++j)
      pass_on(g_.region(r).results[j], node.outputs[j]);
  }
  if (!node.regions.empty()) return;  // an `if`: no gradient flows through its condition
  for (const ValueId from : node.inputs)
    for (const ValueId to : node.outputs) pass_on(from, to);
}

void Influence::spread_loop(ir::NodeId n) {
  const Node& node = g_.node(n);
  const ir::LoopParts& parts = node.loop();
  const ir::Region& body = g_.region(parts.body);
  for (std::size_t k = 0; k < parts.states + parts.scans; ++k)
    pass_on(node.inputs[parts.states_at() + k], body.params[2 + k]);
  bool more = true;
  while (more) {
    spread(parts.body);
    more = false;
    for (std::size_t s = 0; s < parts.states; ++s)
      more = pass_on(body.results[1 + s], body.params[2 + s]) || more;
  }
  for (std::size_t s = 0; s < parts.states; ++s) pass_on(body.params[2 + s], node.outputs[s]);
  for (std::size_t k = 0; k < parts.stacks; ++k)
    pass_on(body.results[1 + parts.states + k], node.outputs[parts.states + k]);
}

}  // namespace rondel::gradients
