#include "base/error.h"
#include "ops/meaning.h"
#include "passes/extract.h"
#include "passes/lower.h"
#include "passes/lower_nodes.h"

namespace rondel::passes {
namespace {

using ir::ValueId;

std::vector<std::int64_t> known_extents(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank())
    broken_invariant("a program is written for a value of type {}", to_text(t));
  std::vector<std::int64_t> extents;
  for (const ir::Extent& e : t.extents()) extents.push_back(e.value);
  return extents;
}

}  // namespace

bool ranks_known(const ir::Graph& g, const ShapeClass& c) {
  const ir::TypeEnvironment k = type_environment_for(g, c);
  for (const ir::NodeId n : g.root().nodes)
    for (const ValueId v : g.node(n).outputs)
      if (v != ValueId::none && !k.types[ir::index(v)].has_rank()) return false;
  return true;
}

std::shared_ptr<const scalar::Program> lower_group(const ir::Graph& g, const ShapeClass& c) {
  const ir::TypeEnvironment environment = type_environment_for(g, c);
  std::vector<ir::NodeId> nodes;
  for (const ir::NodeId n : g.root().nodes)
    if (g.node(n).outputs.empty() || g.constant(g.node(n).outputs[0]) == nullptr)
      nodes.push_back(n);

  scalar::Builder b(g.node(nodes.back()).source);
  LoweringScope scope{g, environment, b, {}, {}};
  std::vector<std::int32_t> buffers;
  for (std::size_t i = 0; i < g.root().params.size(); ++i)
    buffers.push_back(b.buffer({g.value(g.root().params[i]).name, c.types[i].dtype(),
                                scalar::Access::in, known_extents(c.types[i]), c.contiguous[i]}));
  for (const ValueId v : g.root().results) {
    const ir::Type& t = environment.types[ir::index(v)];
    buffers.push_back(
        b.buffer({g.value(v).name, t.dtype(), scalar::Access::out, known_extents(t)}));
  }
  std::size_t next = 0;
  for (const ValueId v : g.root().params)
    scope.operands.emplace(v, whole_buffer(b, buffers[next++]));
  for (const ValueId v : g.root().results) scope.sinks.emplace(v, whole_sink(b, buffers[next++]));
  for (const ir::NodeId n : nodes)
    for (const ValueId v : g.node(n).inputs)
      if (v != ValueId::none && !scope.operands.contains(v) && is_small_constant(g, v))
        scope.operands.emplace(
            v, one_element(b, constant_element(b, *g.constant(v)), g.constant(v)->rank()));
  lower_nodes(scope, nodes);
  return b.finish();
}

}  // namespace rondel::passes
