#include "lowering/empty_stacks.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/loop_editor.h"
#include "lowering/lower.h"

#include <algorithm>
#include <functional>
#include <set>

namespace rondel::lowering {
namespace {

/// What is known before inference: the types of outer values, constants, and the trip count.
ir::TypeEnvironment environment_without_trips(const ir::Graph& g, ir::NodeId n,
                                              const ir::TypeEnvironment& known) {
  ir::TypeEnvironment k = ir::environment_around(g, n);
  k.without_trips = true;
  k.name_unknowns = true;  // so that what follows from one unknown extent twice is known
  for (const ir::ValueId v : outer_values(g, n)) k.types[ir::index(v)] = known.types[ir::index(v)];
  const ir::LoopParts parts(g.node(n));
  if (!parts.has_trips) return k;
  const auto trips = static_cast<std::int32_t>(g.node(n).inputs[parts.trips_at()]);
  k.trips = known.trips;
  if (const auto value = known.values.find(trips); value != known.values.end())
    k.values[trips] = value->second;
  if (const auto list = known.elements.find(trips); list != known.elements.end())
    k.elements[trips] = list->second;
  return k;
}

/// The names in what is known of the loop's outer values.
std::set<ir::Symbol> names_in(const ir::TypeEnvironment& k, std::span<const ir::ValueId> outer) {
  std::set<ir::Symbol> names;
  const auto note = [&](const ir::Integer& i) {
    if (i.symbolic()) names.insert(i.symbol.names().begin(), i.symbol.names().end());
  };
  for (const ir::ValueId v : outer) {
    const ir::Type& t = k.types[ir::index(v)];
    if (t.is_tensor() && t.has_rank()) std::ranges::for_each(t.extents(), note);
  }
  for (const auto& [v, list] : k.elements) std::ranges::for_each(list, note);
  return names;
}

/// The type with no other names than these.
ir::Type with_names(const ir::Type& t, const std::set<ir::Symbol>& names) {
  if (!t.is_tensor() || !t.has_rank()) return t;
  ir::Extents extents = t.extents();
  for (ir::Extent& e : extents)
    if (e.symbolic() &&
        !std::ranges::all_of(e.symbol.names(), [&](ir::Symbol n) { return names.contains(n); }))
      e = {};
  return ir::Type::tensor(t.dtype(), std::move(extents));
}

/// Declares what the graph's types tell of items of which this is declared so far.
void declare(ir::Graph& g, const std::function<bool(const ir::Type& declared)>& wanted) {
  for (const ir::NodeId n : ir::loops_inside_out(g)) {
    ir::LoopEditor editor(g, n);
    for (std::size_t k = 0; k < editor.parts().stacks; ++k) {
      const ir::Type declared = editor.parts().declared[k];
      const ir::Type inferred = with_names(g.value(editor.item(k)).type, {});
      if (wanted(declared)) editor.set_declared(k, ir::completed(inferred, declared));
    }
  }
}

}  // namespace

void complete_declared_items(ir::Graph& g) {
  declare(g, [](const ir::Type& declared) { return declared.is_tensor(); });
}

void declare_items(ir::Graph& g) {
  declare(g, [](const ir::Type&) { return true; });
}

ir::Type declared_item(const ir::Graph& g, ir::NodeId n, std::size_t k) {
  const ir::LoopParts& parts = g.node(n).loop();
  if (parts.declared[k].is_tensor()) return parts.declared[k];
  return with_names(g.value(g.region(parts.body).results[1 + parts.states + k]).type, {});
}

std::vector<ir::Type> items_without_trips(const ir::Graph& g, ir::NodeId n,
                                          const ir::TypeEnvironment& known,
                                          const ir::Evaluator& evaluate) {
  ir::TypeEnvironment k = environment_without_trips(g, n, known);
  const std::set<ir::Symbol> names = names_in(k, outer_values(g, n));
  bool inferred = true;
  try {
    ir::infer_node(g, n, k, evaluate);
  } catch (const Error& e) {
    if (e.blame() == Blame::internal || ends_run(e)) throw;
    inferred = false;
  }
  const ir::LoopParts parts(g.node(n));
  std::vector<ir::Type> items;
  for (std::size_t s = 0; s < parts.stacks; ++s) {
    const ir::ValueId item = g.region(parts.body).results[1 + parts.states + s];
    items.push_back(inferred ? with_names(k.types[ir::index(item)], names)
                             : declared_item(g, n, s));
  }
  return items;
}

}  // namespace rondel::lowering
