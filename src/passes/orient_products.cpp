#include "passes/orient_products.h"

#include "ir/builder.h"
#include "ir/permutation.h"
#include "passes/loop_body.h"
#include "passes/rewrite_nodes.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

constexpr const char* flags[] = {"transpose_a", "transpose_b"};

bool is_product(const Node& n) { return n.op->name == "mat_mul"; }

/// The input of the transposition that computes `v`; none if `v` is no transposition of exactly the
/// last two axes.
ValueId before_transposition(const Graph& g, ValueId v) {
  const NodeId n = g.value(v).producer;
  if (n == NodeId::none || g.node(n).op->name != "transpose") return ValueId::none;
  const ValueId x = g.node(n).inputs[0];
  const ir::Type& t = g.value(x).type;
  if (!t.has_rank() || t.rank() < 2) return ValueId::none;
  const ir::Ints perm = g.node(n).attributes.ints("perm");
  const bool swaps = perm.empty() ? t.rank() == 2 : perm == ir::last_axes_swapped(t.rank());
  return swaps ? x : ValueId::none;
}

/// Whether only products read `v`, and all of them transposed.
bool is_read_transposed(const Graph& g, ValueId v) {
  return std::ranges::all_of(g.value(v).uses, [&](const ir::Use& use) {
    return use.node != NodeId::none && is_product(g.node(use.node)) &&
           g.node(use.node).attributes.flag(flags[use.index]);
  });
}

void flip(Graph& g, NodeId n, std::size_t side) {
  ir::Attributes& attributes = g.node(n).attributes;
  attributes.set(flags[side], attributes.flag(flags[side]) ? 0 : 1);
}

bool read_untransposed(Graph& g, NodeId n, std::size_t side) {
  const ValueId x = before_transposition(g, g.node(n).inputs[side]);
  if (x == ValueId::none) return false;
  g.set_input(n, side, x);
  flip(g, n, side);
  return true;
}

/// A product that only a transposition reads gives the transposed result: (A B)' = B' A'.
bool give_transposed(Graph& g, NodeId n) {
  const ValueId made = g.node(n).outputs[0];
  const auto is_matrix = [&](ValueId x) {
    return g.value(x).type.has_rank() && g.value(x).type.rank() >= 2;
  };
  if (g.value(made).uses.size() != 1 || !std::ranges::all_of(g.node(n).inputs, is_matrix))
    return false;
  const NodeId reader = g.value(made).uses.front().node;
  if (reader == NodeId::none || g.node(reader).region != g.node(n).region) return false;
  const ValueId turned = g.node(reader).outputs[0];
  if (before_transposition(g, turned) != made) return false;
  const std::vector<ValueId> operands = g.node(n).inputs;
  ir::Attributes& attributes = g.node(n).attributes;
  const bool a = attributes.flag(flags[0]), b = attributes.flag(flags[1]);
  g.set_input(n, 0, operands[1]);
  g.set_input(n, 1, operands[0]);
  attributes.set(flags[0], b ? 0 : 1);
  attributes.set(flags[1], a ? 0 : 1);
  g.replace_uses(turned, made);
  std::swap(g.value(made).type, g.value(turned).type);  // nothing reads the transposition any more
  return true;
}

/// Stores an operand that a product in a loop reads transposed once, before the loop.
bool store_before_loop(Graph& g, NodeId n, std::size_t side) {
  const ValueId v = g.node(n).inputs[side];
  const ir::Type& t = g.value(v).type;
  if (!g.node(n).attributes.flag(flags[side]) || !t.has_rank() || t.rank() != 2) return false;
  const NodeId loop = outermost_loop_that_keeps(g, n, v);
  if (loop == NodeId::none) return false;
  ir::Builder b(g, g.node(loop).region);
  b.source(g.node(n).source);
  b.insert_before(loop);
  const ValueId turned = b("transpose", {v}, {{"perm", ir::Ints{1, 0}}});
  g.set_input(n, side, b("row_major", {turned}));
  flip(g, n, side);
  return true;
}

bool store_transposed(Graph& g, NodeId n, std::size_t side) {
  const ValueId v = g.node(n).inputs[side];
  const Tensor* constant = g.constant(v);
  if (constant == nullptr || constant->rank() != 2 || !is_read_transposed(g, v)) return false;
  const Shape &shape = constant->shape(), &strides = constant->strides();
  const Tensor turned = constant->strided(0, {shape[1], shape[0]}, {strides[1], strides[0]});
  const NodeId made_by = g.value(v).producer;
  ir::Builder b(g, g.node(made_by).region);
  b.source(g.node(made_by).source);
  b.insert_before(made_by);
  const ValueId stored = b.constant(turned.packed());
  const std::vector<ir::Use> uses(g.value(v).uses.begin(), g.value(v).uses.end());
  for (const ir::Use& use : uses) flip(g, use.node, use.index);
  g.replace_uses(v, stored);
  return true;
}

}  // namespace

bool orient_products(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) {
    if (!is_product(g.node(n))) return false;
    bool changed = give_transposed(g, n);
    for (const std::size_t side : {0U, 1U}) {
      while (read_untransposed(g, n, side)) changed = true;
      if (store_transposed(g, n, side)) changed = true;
      if (store_before_loop(g, n, side)) changed = true;
    }
    return changed;
  });
}

}  // namespace rondel::passes
