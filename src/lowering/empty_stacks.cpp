#include "lowering/empty_stacks.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "lowering/lower.h"

namespace rondel::lowering {
namespace {

/// What is known before inference: the types of outer values, constants, and the trip count.
ir::TypeEnvironment environment_without_trips(const ir::Graph& g, ir::NodeId n,
                                              const ir::TypeEnvironment& known) {
  ir::TypeEnvironment k = ir::environment_around(g, n);
  k.without_trips = true;
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

}  // namespace

std::vector<ir::Type> items_without_trips(const ir::Graph& g, ir::NodeId n,
                                          const ir::TypeEnvironment& known,
                                          const ir::Evaluator& evaluate) {
  ir::TypeEnvironment k = environment_without_trips(g, n, known);
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
    items.push_back(inferred ? k.types[ir::index(item)] : g.value(item).type);
  }
  return items;
}

}  // namespace rondel::lowering
