#include "passes/top_one.h"

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

bool finds_the_greatest(const Graph& g, NodeId n) {
  if (!is_op(g, n, "top_k")) return false;
  const Node& node = g.node(n);
  const Tensor* k = g.constant(node.inputs[1]);
  return node.attributes.flag("largest", true) && k != nullptr && k->size() == 1 &&
         ir::integers_of(*k).front() == 1 && g.value(node.inputs[0]).type.is_tensor();
}

void find_the_greatest(Graph& g, NodeId n) {
  const ValueId x = g.node(n).inputs[0];
  const std::int64_t axis = g.node(n).attributes.i("axis", -1);
  ir::Builder b(g, g.node(n).region);
  b.insert_before(n);
  b.source(g.node(n).source);
  const ValueId index = b("arg_max", {x}, {{"axis", axis}});
  const std::vector<ValueId> outputs = g.node(n).outputs;
  if (outputs[0] != ValueId::none)
    replace_value(g, outputs[0], b("gather_elements", {x, index}, {{"axis", axis}}));
  if (outputs.size() > 1 && outputs[1] != ValueId::none) replace_value(g, outputs[1], index);
  g.erase_node(n);
}

}  // namespace

bool top_one(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    if (!finds_the_greatest(g, n) || !ir::rule_holds(g, n)) return false;
    find_the_greatest(g, n);
    return true;
  });
}

}  // namespace rondel::passes
