#include "passes/declared_items.h"

#include "ir/loop_editor.h"
#include "passes/named_extents.h"

#include <algorithm>

namespace rondel::passes {
namespace {

/// What a type says by numbers: its rank, and the extents that are numbers.
ir::Type numbers_of(const ir::Type& t) {
  return t.is_tensor() && t.has_rank() ? with_numbers_only(t) : t;
}

/// The items of a loop as far as the types of all that goes in tell them; its values say nothing of
/// stacks without trips.
std::vector<ir::Type> items_of(const ir::Graph& g, ir::NodeId loop, const ir::Types& types) {
  ir::TypeEnvironment k = ir::environment_around(g, loop);
  const auto take = [&](ir::ValueId v) {
    if (v != ir::ValueId::none) k.types[ir::index(v)] = types[ir::index(v)];
  };
  std::ranges::for_each(g.node(loop).inputs, take);
  for (const ir::RegionId r : g.node(loop).regions) std::ranges::for_each(g.captures(r), take);
  ir::infer_kept_node(g, loop, k);
  const ir::LoopParts& parts = g.node(loop).loop();
  std::vector<ir::Type> items;
  for (std::size_t s = 0; s < parts.stacks; ++s)
    items.push_back(
        numbers_of(k.types[ir::index(g.region(parts.body).results[1 + parts.states + s])]));
  return items;
}

}  // namespace

DeclaredItems::DeclaredItems(const ir::Graph& g) {
  const ir::TypeEnvironment k = ir::type_environment(g);
  for (const ir::NodeId n : ir::loops_inside_out(g))
    if (g.node(n).loop().stacks > 0) items_.emplace(n, items_of(g, n, k.types));
}

void DeclaredItems::declare_forgotten(ir::Graph& g) const {
  if (items_.empty()) return;
  ir::TypeEnvironment k = ir::type_environment(g);
  ir::infer_region(g, ir::RegionId::root, k);
  for (const auto& [loop, before] : items_) {
    if (g.is_erased(loop)) continue;
    const std::vector<ir::Type> now = items_of(g, loop, k.types);
    ir::LoopEditor editor(g, loop);
    for (std::size_t s = 0; s < std::min(now.size(), before.size()); ++s)
      if (!(ir::completed(now[s], before[s]) == now[s]))
        editor.set_declared(s, ir::completed(before[s], editor.parts().declared[s]));
  }
}

}  // namespace rondel::passes
