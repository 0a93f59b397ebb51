#include "passes/outer_products.h"

#include "ir/builder.h"
#include "ir/infer.h"
#include "ir/permutation.h"
#include "passes/rewrite_nodes.h"

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Whether an operand is a stack of columns (side 0) or of rows (side 1): matrices whose axis of
/// sums has one element.
bool is_of_vectors(const Graph& g, const Node& product, std::size_t side) {
  const ir::Type& t = g.value(product.inputs[side]).type;
  if (!t.has_rank() || t.rank() < 2) return false;
  const bool transposed = product.attributes.flag(side == 0 ? "transpose_a" : "transpose_b");
  const std::int64_t summed = t.rank() - (transposed == (side == 0) ? 2 : 1);
  return t.extent(summed) == 1;
}

bool is_narrow(DType t) { return t == DType::f16 || t == DType::bf16; }

ValueId transposed(ir::Builder& b, ValueId x) {
  return b("transpose", {x}, {{"perm", ir::last_axes_swapped(b.graph().value(x).type.rank())}});
}

void replace(Graph& g, NodeId n) {
  const Node node = g.node(n);
  ir::Builder b(g, node.region);
  b.source(node.source);
  b.insert_before(n);
  ValueId columns = node.inputs[0], rows = node.inputs[1];
  if (node.attributes.flag("transpose_a")) columns = transposed(b, columns);
  if (node.attributes.flag("transpose_b")) rows = transposed(b, rows);
  ValueId y = b("mul", {columns, rows});
  const DType t = g.value(y).type.dtype();
  if (is_float(t)) y = b("add", {y, b.scalar(t, 0)});
  g.value(y).name = g.value(node.outputs[0]).name;
  g.replace_uses(node.outputs[0], y);
  g.erase_node(n);
}

}  // namespace

bool is_outer_product(const Graph& g, const Node& n) {
  return n.op->name == "mat_mul" && is_of_vectors(g, n, 0) && is_of_vectors(g, n, 1);
}

bool outer_products(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    if (!is_outer_product(g, g.node(n)) || is_narrow(g.value(g.node(n).outputs[0]).type.dtype()) ||
        !ir::rule_holds(g, n))
      return false;
    replace(g, n);
    return true;
  });
}

}  // namespace rondel::passes
