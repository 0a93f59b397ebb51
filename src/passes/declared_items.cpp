#include "passes/declared_items.h"

#include "ir/infer.h"
#include "ir/loop_editor.h"

#include <algorithm>

namespace rondel::passes {
namespace {

/// What a type says by numbers: its rank and its known extents.
ir::Type in_numbers(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents = t.extents();
  std::ranges::replace_if(
      extents, [](const ir::Extent& e) { return !e.known(); }, ir::Extent());
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

bool is_loop(const ir::Graph& g, ir::NodeId n) {
  return g.node(n).region != ir::RegionId::none && g.node(n).is_loop();
}

ir::ValueId item_of(const ir::Graph& g, const ir::LoopParts& parts, std::size_t stack) {
  return g.region(parts.body).results[1 + parts.states + stack];
}

/// What follows from the types of all that goes into a loop: its values say nothing of stacks
/// without trips.
ir::TypeEnvironment inferred_from_types(const ir::Graph& g, ir::NodeId loop,
                                        const ir::TypeEnvironment& all) {
  ir::TypeEnvironment k = ir::environment_around(g, loop);
  const auto take = [&](ir::ValueId v) {
    if (v != ir::ValueId::none) k.types[ir::index(v)] = all.types[ir::index(v)];
  };
  std::ranges::for_each(g.node(loop).inputs, take);
  for (const ir::RegionId r : g.node(loop).regions) std::ranges::for_each(g.captures(r), take);
  ir::infer_node(g, loop, k);
  return k;
}

}  // namespace

DeclaredItems::DeclaredItems(const ir::Graph& g) {
  for (std::size_t i = 0; i < g.node_count(); ++i) {
    const auto n = static_cast<ir::NodeId>(i);
    if (!is_loop(g, n)) continue;
    const ir::LoopParts parts(g.node(n));
    for (std::size_t k = 0; k < parts.stacks; ++k) {
      const ir::Type t = in_numbers(g.value(item_of(g, parts, k)).type);
      if (t.is_tensor() && t.has_rank()) items_.push_back({n, k, t});
    }
  }
}

void DeclaredItems::declare_forgotten(ir::Graph& g) const {
  if (items_.empty()) return;
  ir::TypeEnvironment all = ir::type_environment(g);
  ir::infer_region(g, ir::RegionId::root, all);
  for (const Item& item : items_) {
    if (!is_loop(g, item.loop) || !ir::rule_holds(g, item.loop)) continue;
    const ir::TypeEnvironment k = inferred_from_types(g, item.loop, all);
    ir::LoopEditor editor(g, item.loop);
    const ir::Type now = in_numbers(k.types[ir::index(item_of(g, editor.parts(), item.stack))]);
    const ir::Type declared = ir::completed(now, editor.parts().declared[item.stack]);
    if (ir::completed(declared, item.type) == declared) continue;
    editor.set_declared(item.stack, ir::completed(item.type, editor.parts().declared[item.stack]));
  }
}

}  // namespace rondel::passes
