#include "passes/lists.h"

namespace rondel::passes {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

bool is_op(const Graph& g, NodeId n, std::string_view op) {
  return n != NodeId::none && g.node(n).op->name == op;
}

Reading reading_of(const Node& n) {
  if (n.op->name == "sequence_at") return Reading::item;
  if (n.op->name == "sequence_length") return Reading::length;
  if (n.op->name != "concat_from_sequence") return Reading::other;
  return n.attributes.flag("new_axis") ? Reading::stacked : Reading::joined;
}

Making making_of(const Node& n) {
  if (n.op->name == "sequence_empty") return Making::empty;
  if (n.op->name == "sequence_construct") return Making::named;
  if (n.op->name == "split_to_sequence") return Making::parts;
  if (n.op->name == "sequence_insert") return Making::inserted;
  if (n.op->name == "sequence_erase") return Making::erased;
  return Making::other;
}

bool has_operand(const Node& n, std::size_t k) {
  return k < n.inputs.size() && n.inputs[k] != ValueId::none;
}

bool appends(const Graph& g, NodeId n) {
  return n != NodeId::none && making_of(g.node(n)) == Making::inserted &&
         !has_operand(g.node(n), 2);
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
