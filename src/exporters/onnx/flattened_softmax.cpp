#include "exporters/onnx/flattened_softmax.h"

#include "base/axis.h"
#include "ir/builder.h"
#include "ops/compose.h"

#include <algorithm>
#include <limits>

namespace rondel::exporters {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

/// The node that computes the value; null if it is a parameter or the node is another op.
const Node* producer(const Graph& g, ValueId v, std::string_view op) {
  const ir::NodeId n = g.value(v).producer;
  return n != ir::NodeId::none && g.node(n).op->name == op ? &g.node(n) : nullptr;
}

const Node* softmax_of_matrix(const Graph& g, ValueId v) {
  for (const char* op : {"softmax", "log_softmax", "hardmax"})
    if (const Node* n = producer(g, v, op)) {
      const std::int64_t axis = n->attributes.i("axis", -1);
      return axis == 1 || axis == -1 ? n : nullptr;
    }
  return nullptr;
}

bool is_shape_of(const Graph& g, ValueId list, ValueId x) {
  if (const Tensor* t = g.constant(list)) {
    const ir::Type& type = g.value(x).type;
    return type.is_static() && std::ranges::equal(ir::integers_of(*t), type.static_shape());
  }
  constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();
  const Node* n = producer(g, list, "shape");
  return n != nullptr && n->inputs[0] == x && n->attributes.i("start", 0) == 0 &&
         n->attributes.i("end", to_the_end) == to_the_end;
}

}  // namespace

bool join_flattened_softmax(Graph& g, ir::NodeId id) {
  const Node& n = g.node(id);
  if (!n.attributes.flag("allowzero") || g.value(n.inputs[0]).uses.size() != 1) return false;
  const Node* softmax = softmax_of_matrix(g, n.inputs[0]);
  const Node* flatten = softmax ? producer(g, softmax->inputs[0], "flatten") : nullptr;
  if (flatten == nullptr || !is_shape_of(g, n.inputs[1], flatten->inputs[0])) return false;
  const ValueId x = flatten->inputs[0];
  const std::int64_t axis = flatten->attributes.i("axis", 1);
  const ir::Type& type = g.value(x).type;
  // Flatten takes the rank as its axis, too.
  if (!type.has_rank() || !has_axis(axis, type.rank())) return false;

  ir::Builder b(g, n.region);
  b.source(softmax->source);
  b.insert_before(id);
  const ValueId old = n.outputs[0], y = b(softmax->op->name, {x}, {{"axis", axis}});
  g.node(g.value(y).producer).attributes.set(flattened_mark, std::int64_t{1});
  g.value(y).name = g.value(old).name;
  g.replace_uses(old, y);
  g.erase_node(id);
  return true;
}

bool is_flattened_softmax(const Node& n) { return n.attributes.flag(flattened_mark); }

}  // namespace rondel::exporters
