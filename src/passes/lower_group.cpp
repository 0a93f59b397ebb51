#include "passes/lower.h"
#include "passes/lower_nodes.h"

namespace rondel::passes {
namespace {

/// The types of a group's values for a shape class, and the values that shape the program.
ir::Knowledge knowledge_for(const ir::Graph& g, const Group& group, const ShapeClass& c) {
  ir::Knowledge k;
  k.types.resize(g.value_count());
  k.name_unknowns = true;
  for (std::size_t i = 0; i < group.inputs.size(); ++i) {
    k.types[ir::index(group.inputs[i])] = c.types[i];
    if (c.values[i].defined())
      k.values[static_cast<std::int32_t>(group.inputs[i])] = c.values[i];
    else if (const Tensor* t = g.constant(group.inputs[i]))
      k.values[static_cast<std::int32_t>(group.inputs[i])] = *t;
  }
  for (const ir::NodeId n : group.nodes) ir::infer_node(g, n, k);
  return k;
}

std::vector<std::int64_t> known_extents(const ir::Type& t) {
  std::vector<std::int64_t> extents;
  for (const ir::Extent& e : t.extents()) extents.push_back(e.value);
  return extents;
}

std::string buffer_name(const ir::Graph& g, ir::ValueId v) {
  const std::string& name = g.value(v).name;
  return name.empty() ? "v" + std::to_string(ir::index(v)) : name;
}

}  // namespace

LoweredGroup lower_group(const ir::Graph& g, const Group& group, const ShapeClass& c) {
  const ir::Knowledge knowledge = knowledge_for(g, group, c);
  scalar::Builder b(g.node(group.nodes.back()).source);
  LoweringScope scope{g, knowledge, b, {}, {}};
  LoweredGroup lowered;

  const bool nest = !g.node(group.nodes[0]).outputs.empty() && group.nodes.size() == 1;
  std::vector<std::pair<ir::ValueId, std::int32_t>> inputs, outputs;
  for (std::size_t i = 0; i < group.inputs.size(); ++i) {
    const ir::ValueId v = group.inputs[i];
    const auto constant = nest ? std::nullopt : small_constant(b, g, v);
    lowered.bound.push_back(!constant);
    if (constant)
      scope.places.emplace(v, single_element(b, *constant, c.types[i].rank()));
    else
      inputs.emplace_back(v, b.buffer({buffer_name(g, v), c.types[i].dtype(), scalar::Access::in,
                                       known_extents(c.types[i]), c.contiguous[i]}));
  }
  for (const ir::ValueId v : group.outputs) {
    const ir::Type& t = knowledge.types[ir::index(v)];
    outputs.emplace_back(v, b.buffer({buffer_name(g, v), t.dtype(), scalar::Access::out,
                                      known_extents(t), true}));
  }
  for (const auto& [v, id] : inputs) scope.places.emplace(v, whole_buffer(b, id));
  for (const auto& [v, id] : outputs) {
    const std::int32_t buffer = id;
    Sink sink{{[&b, buffer](const scalar::Indices& i, scalar::Ex x) { b.store(buffer, i, x); }},
              buffer, {}};
    for (std::int64_t a = 0; a < b.buffer(buffer).rank(); ++a)
      sink.extents.push_back(b.extent(buffer, a));
    scope.sinks.emplace(v, std::move(sink));
  }
  lower_nodes(scope, group);
  lowered.program = b.finish();
  return lowered;
}

}  // namespace rondel::passes
