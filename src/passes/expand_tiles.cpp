#include "passes/expand_tiles.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "passes/lists.h"
#include "passes/replace_value.h"
#include "passes/rewrite_nodes.h"

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool repeats_single_elements(const Graph& g, NodeId n) {
  if (!is_op(g, n, "tile")) return false;
  const Node& node = g.node(n);
  const ir::Type& x = g.value(node.inputs[0]).type;
  const Tensor* repeats = g.constant(node.inputs[1]);
  // Text is copied, because its memory is counted.
  if (repeats == nullptr || !x.is_tensor() || x.dtype() == DType::string || !x.has_rank())
    return false;
  const ir::Ints times = ir::integers_of(*repeats);
  if (std::ssize(times) != x.rank()) return false;
  for (std::int64_t a = 0; a < x.rank(); ++a)
    if (times[static_cast<std::size_t>(a)] != 1 && !(x.extent(a) == ir::Extent(1))) return false;
  return true;
}

}  // namespace

bool expand_tiles(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    if (!repeats_single_elements(g, n) || !ir::rule_holds(g, n)) return false;
    const Node node = g.node(n);
    ir::Builder b(g, node.region);
    b.insert_before(n);
    b.source(node.source);
    // An axis that is repeated once keeps its extent, as one that is broadcast with 1.
    replace_value(g, node.outputs[0], b("expand", {node.inputs[0], node.inputs[1]}));
    g.erase_node(n);
    return true;
  });
}

}  // namespace rondel::passes
