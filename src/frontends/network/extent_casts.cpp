#include "frontends/network/extent_casts.h"

#include "ir/infer.h"

#include <algorithm>
#include <limits>

namespace rondel::network {
namespace {

using ir::Graph;
using ir::NodeId;

/// All casts from int64 to int32 in the graph.
std::vector<NodeId> narrowing_casts(const Graph& g) {
  std::vector<NodeId> found;
  for (std::size_t r = 0; r < g.region_count(); ++r)
    for (const NodeId n : g.region(static_cast<ir::RegionId>(r)).nodes) {
      const ir::Node& node = g.node(n);
      if (node.op->name == "cast" && node.attributes.type("to").dtype() == DType::i32 &&
          g.value(node.inputs[0]).type.dtype() == DType::i64)
        found.push_back(n);
    }
  return found;
}

/// Whether all elements are known to be extents, or numbers that int32 holds.
bool are_extents(const ir::TypeEnvironment& k, ir::ValueId v) {
  const auto elements = k.elements.find(static_cast<std::int32_t>(v));
  return elements != k.elements.end() &&
         std::ranges::all_of(elements->second, [](const ir::Integer& e) {
           return e.symbolic() || (e.at_least(std::numeric_limits<std::int32_t>::min()) &&
                                   e.at_most(std::numeric_limits<std::int32_t>::max()));
         });
}

}  // namespace

void check_extent_casts(Graph& g) {
  std::vector<NodeId> casts = narrowing_casts(g);
  // A checked cast keeps its result an extent, so further casts may turn out to be of extents.
  for (bool changed = true; changed && !casts.empty();) {
    ir::TypeEnvironment k = ir::named_type_environment(g);
    ir::infer_region(g, ir::RegionId::root, k);
    changed = std::erase_if(casts, [&](NodeId n) {
                if (!are_extents(k, g.node(n).inputs[0])) return false;
                g.node(n).op = &ir::op("checked_int32");
                g.node(n).attributes = {};
                return true;
              }) > 0;
  }
}

}  // namespace rondel::network
