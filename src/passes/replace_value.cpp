#include "passes/replace_value.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::ValueId;

bool is_result(const Graph& g, ValueId v) {
  return std::ranges::any_of(g.value(v).uses, [&](const ir::Use& use) {
    return use.node == NodeId::none && use.region == g.value(v).region;
  });
}

}  // namespace

void replace_value(Graph& g, ValueId from, ValueId to) {
  const bool made_here = g.value(to).producer != NodeId::none &&
                         g.value(to).region == g.value(from).region;
  if (made_here && is_result(g, from) && !is_result(g, to)) g.value(to).name = g.value(from).name;
  g.replace_uses(from, to);
}

void replace_uses(Graph& g, std::span<const ir::Use> readers, ValueId to) {
  for (const ir::Use& use : readers)
    if (use.node != NodeId::none) g.set_input(use.node, use.index, to);
    else g.set_result(use.region, use.index, to);
}

}  // namespace rondel::passes
