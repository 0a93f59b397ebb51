#include "passes/batched_trips.h"

#include "passes/loop_body.h"

#include <algorithm>
#include <numeric>

namespace rondel::passes {
namespace {

constexpr double least_weights = 256;

/// Whether the node makes floats of two tensors of floats or more.
bool has_factors(const ir::Graph& g, const ir::Node& node) {
  const auto is_floats = [&](ir::ValueId v) {
    if (v == ir::ValueId::none) return false;
    const ir::Type& t = g.value(v).type;
    return t.is_tensor() && is_float(t.dtype());
  };
  return is_floats(node.outputs[0]) && std::ranges::count_if(node.inputs, is_floats) >= 2;
}

}  // namespace

std::optional<TensorSize> TensorSize::of(const ir::Type& t) {
  if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
  TensorSize size;
  for (const ir::Extent& e : t.extents()) {
    if (e.known()) size.elements *= static_cast<double>(e.value);
    else if (e.symbolic()) size.symbols.push_back(to_text(e));
    else return std::nullopt;
  }
  std::ranges::sort(size.symbols);
  size.bytes = size.elements * static_cast<double>(byte_size(t.dtype()));
  return size;
}

bool is_known_before(const ir::Graph& g, ir::NodeId n) {
  const ir::Node& loop = g.node(n);
  return !is_in_loop(g, loop.region) || std::ranges::all_of(loop.inputs, [&](ir::ValueId v) {
    return v == ir::ValueId::none || g.value(v).type.is_static();
  });
}

Product product_of(const ir::Graph& g, const ir::Node& node, const ir::TypeEnvironment& types,
                   const std::function<bool(ir::ValueId)>& differs) {
  if (!is_costly(node) || node.outputs.size() != 1) return Product::none;
  ir::ValueId varying = ir::ValueId::none;
  bool weights = false;
  const auto otherwise = [&](Product p) { return has_factors(g, node) ? p : Product::none; };
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const ir::ValueId v = node.inputs[k];
    if (v == ir::ValueId::none) continue;
    if (differs(v)) {
      const ir::Type& t = types.types[ir::index(v)];
      const bool is_vector = t.is_tensor() && t.has_rank() && t.rank() <= 1;
      if (varying != ir::ValueId::none) return otherwise(Product::varying);
      if (k > 0 && !is_vector) return otherwise(Product::right_matrix);
      varying = v;
    } else if (const auto size = TensorSize::of(g.value(v).type)) {
      weights = weights || (size->symbols.empty() && size->elements >= least_weights);
    }
  }
  if (weights && varying != ir::ValueId::none) return Product::by_weights;
  return otherwise(varying == ir::ValueId::none ? Product::constant : Product::small);
}

const char* why_not(Product p) {
  switch (p) {
    case Product::varying: return "both operands change in the loop";
    case Product::right_matrix: return "a trip reads its weights once all the same";
    case Product::small: return "its weights are few, or of unknown shape";
    default: return "";
  }
}

ir::ValueId with_axis_moved(ir::Builder& b, ir::ValueId x, std::int64_t from, std::int64_t to) {
  if (from == to) return x;
  ir::Ints perm(static_cast<std::size_t>(b.graph().value(x).type.rank()));
  std::iota(perm.begin(), perm.end(), 0);
  perm.erase(perm.begin() + from);
  perm.insert(perm.begin() + to, from);
  return b("transpose", {x}, {{"perm", perm}});
}

ir::Type stack_type(const ir::Type& one, const ir::Extent& trips) {
  ir::Extents extents = one.extents();
  extents.insert(extents.begin(), trips);
  return ir::Type::tensor(one.dtype(), std::move(extents));
}

void complete_type(ir::Graph& g, ir::ValueId stack, const ir::Type& one, const ir::Extent& trips) {
  ir::Type& t = g.value(stack).type;
  if (one.is_tensor() && one.has_rank()) t = ir::completed(t, stack_type(one, trips));
}

void erase_nodes_since(ir::Graph& g, std::size_t count) {
  for (std::size_t made = g.node_count(); made-- > count;)
    g.erase_node(static_cast<ir::NodeId>(made));
}

}  // namespace rondel::passes
