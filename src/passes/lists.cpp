#include "passes/lists.h"

namespace rondel::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_op(const Graph& g, NodeId n, std::string_view op) {
  return n != NodeId::none && g.node(n).op->name == op;
}

bool appends(const Graph& g, NodeId n) {
  if (!is_op(g, n, "sequence_insert")) return false;
  const Node& insert = g.node(n);
  return insert.inputs.size() < 3 || insert.inputs[2] == ValueId::none;
}

std::optional<std::vector<ValueId>> named_items(const Graph& g, ValueId list) {
  const NodeId n = g.value(list).producer;
  if (is_op(g, n, "sequence_empty")) return std::vector<ValueId>();
  if (is_op(g, n, "sequence_construct"))
    return std::vector<ValueId>(g.node(n).inputs.begin(), g.node(n).inputs.end());
  if (!appends(g, n)) return std::nullopt;
  auto items = named_items(g, g.node(n).inputs[0]);
  if (items) items->push_back(g.node(n).inputs[1]);
  return items;
}

void replace_node(Graph& g, NodeId n, ValueId by) {
  const ValueId old = g.node(n).outputs[0];
  if (g.value(by).name.empty()) g.value(by).name = g.value(old).name;
  g.replace_uses(old, by);
  g.erase_node(n);
}

}  // namespace rondel::passes
