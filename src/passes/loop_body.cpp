#include "passes/loop_body.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::passes {
bool is_if(const ir::Node& n) { return !n.is_loop() && n.regions.size() == 2; }

bool is_in_loop(const ir::Graph& g, ir::RegionId r) {
  using ir::NodeId;
  for (NodeId n = g.region(r).parent; n != NodeId::none; n = g.region(g.node(n).region).parent)
    if (g.node(n).is_loop()) return true;
  return false;
}

ir::NodeId outermost_loop_that_keeps(const ir::Graph& g, ir::NodeId n, ir::ValueId v) {
  ir::NodeId found = ir::NodeId::none;
  for (ir::RegionId r = g.node(n).region; r != g.value(v).region;) {
    const ir::NodeId around = g.region(r).parent;
    if (g.node(around).is_loop()) found = around;
    r = g.node(around).region;
  }
  return found;
}

ir::TypeEnvironment types_in(const ir::Graph& g, ir::NodeId loop) {
  ir::TypeEnvironment k = ir::environment_around(g, loop);
  ir::infer_kept_node(g, loop, k);
  return k;
}

bool certainly_makes_a_trip(const ir::Node& loop, const ir::TypeEnvironment& k) {
  const ir::LoopParts& parts = loop.loop();
  if (parts.has_go) {
    const Tensor* go = k.value(loop.inputs[parts.go_at()]);
    if (go == nullptr || go->size() != 1 || *go->data_as<std::uint8_t>() == 0) return false;
  }
  return ir::most_trips_of(loop, k).at_least(1) ||
         (parts.has_go && !parts.has_trips && parts.scans == 0);
}

bool never_ends(const ir::Graph& g, const ir::Node& loop, const ir::TypeEnvironment& k) {
  const auto is_true = [&k](ir::ValueId v) {
    const Tensor* t = k.value(k.original(v));
    return t != nullptr && t->size() == 1 && *t->packed().data_as<std::uint8_t>() != 0;
  };
  const ir::Region& body = g.region(loop.loop().body);
  const ir::ValueId next = k.original(body.results[0]);
  return is_true(loop.inputs[loop.loop().go_at()]) && (next == body.params[1] || is_true(next));
}

bool is_told(const ir::Type& t) {
  return t.has_rank() && std::ranges::all_of(t.extents(), &ir::Extent::known_or_symbolic);
}

bool keeps_shape(const ir::TypeEnvironment& k, ir::ValueId v) {
  const ir::Type& t = k.types[ir::index(v)];
  return t.is_tensor() && is_told(t);
}

bool shapes_agree(const ir::TypeEnvironment& k) {
  const auto holds = [](const ir::Integer& condition) { return condition.at_least(0); };
  return k.conditions && std::ranges::all_of(*k.conditions, holds);
}

std::size_t nodes_of_body(const ir::Graph& g, ir::NodeId loop) {
  std::size_t nodes = 0;
  for (const ir::RegionId r : g.regions_below(g.node(loop).loop().body))
    nodes += g.region(r).nodes.size();
  return nodes;
}

std::size_t most_nodes_to_copy(const ir::Graph& g, ir::NodeId loop) {
  std::size_t most = 128;
  const auto parent = [&g](ir::NodeId n) { return g.region(g.node(n).region).parent; };
  for (ir::NodeId n = parent(loop); n != ir::NodeId::none; n = parent(n))
    if (is_if(g.node(n))) most /= 2;
  return most;
}

bool is_costly(const ir::Node& n) {
  return ops::meaning_as<ops::KernelMeaning>(*n.op) != nullptr ||
         ops::meaning_as<ops::LoopNest>(*n.op) != nullptr;
}

namespace {

/// Whether all that the rule of a node checks is known: the shapes of its inputs, and the values of
/// those whose values matter.
bool inputs_are_known(const ir::Graph& g, const ir::Node& n) {
  for (std::size_t k = 0; k < n.inputs.size(); ++k) {
    const ir::ValueId v = n.inputs[k];
    if (v == ir::ValueId::none) continue;
    const ir::Type& t = g.value(v).type;
    if (!t.is_tensor() || !t.is_static()) return false;
    if (std::ranges::count(n.op->value_inputs, k) > 0 && g.constant(v) == nullptr) return false;
  }
  return true;
}

}  // namespace

bool cannot_fail(const ir::Graph& g, ir::NodeId n) {
  ir::TypeEnvironment k = ir::environment_around(g, n);
  try {
    ir::infer_node(g, n, k);
  } catch (const Error& e) {  // the node stayed although its rule is broken
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    return false;
  }
  return !ir::can_fail(g, n) && (inputs_are_known(g, g.node(n)) || shapes_agree(k));
}

void erase_unread(ir::Graph& g, ir::RegionId r) {
  g.erase_nodes(r, [&g](ir::NodeId n) {
    return std::ranges::none_of(g.node(n).outputs, [&g](ir::ValueId v) { return g.is_read(v); });
  });
}

}  // namespace rondel::passes
