#include "passes/compare_integers.h"

#include "ir/builder.h"
#include "ops/scalars.h"
#include "passes/lists.h"
#include "passes/rewrite_nodes.h"

#include <cmath>
#include <limits>
#include <optional>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::Node;
using ir::NodeId;
using ir::ValueId;

/// Floats of this format represent all integers of less magnitude; 0 for other dtypes.
double exact_below(DType t) {
  switch (t) {
    case DType::bf16: return 0x1p8;
    case DType::f16: return 0x1p11;
    case DType::f32: return 0x1p24;
    case DType::f64: return 0x1p53;
    default: return 0;
  }
}

/// The integer that a comparison with `limit` compares with; `rounds_up`: x < limit and x >= limit
/// ask of an integer what x < ceil(limit) and x >= ceil(limit) ask.
std::optional<std::int64_t> integer_limit(const Tensor* limit, bool rounds_up) {
  if (limit == nullptr || limit->size() != 1 || exact_below(limit->dtype()) == 0)
    return std::nullopt;
  const double x = ops::float_value(*limit);
  if (!(std::fabs(x) < exact_below(limit->dtype()))) return std::nullopt;  // also NaN
  return static_cast<std::int64_t>(rounds_up ? std::ceil(x) : std::floor(x));
}

/// The integers, of 32 bits or more, that a value is converted from; none if there are none.
ValueId integers(const Graph& g, ValueId v) {
  const NodeId n = g.value(v).producer;
  if (!is_op(g, n, "convert")) return ValueId::none;
  const ValueId x = g.node(n).inputs[0];
  const DType t = g.value(x).type.dtype();
  return t == DType::i64 || t == DType::i32 ? x : ValueId::none;
}

bool fits_in_32_bits(std::int64_t v) {
  return v >= std::numeric_limits<std::int32_t>::min() &&
         v <= std::numeric_limits<std::int32_t>::max();
}

/// Whether the node is a comparison; `strict` with less or greater.
bool compares(const Node& n, bool& less, bool& strict) {
  const std::string_view op = n.op->name;
  less = op == "less" || op == "less_or_equal";
  strict = op == "less" || op == "greater";
  return less || strict || op == "greater_or_equal";
}

bool narrow_comparison(Graph& g, NodeId n) {
  bool less = false, strict = false;
  if (!compares(g.node(n), less, strict)) return false;
  for (const std::size_t side : {std::size_t{0}, std::size_t{1}}) {
    const ValueId x = integers(g, g.node(n).inputs[side]), limit = g.node(n).inputs[1 - side];
    const bool below = less == (side == 0);  // x is to be below the limit
    const auto number = x == ValueId::none ? std::nullopt
                                           : integer_limit(g.constant(limit), below == strict);
    if (!number || (g.value(x).type.dtype() == DType::i32 && !fits_in_32_bits(*number))) continue;
    const Shape shape = g.constant(limit)->shape();
    ir::Builder b(g, g.node(n).region);
    b.insert_before(n);
    b.source(g.node(n).source);
    g.set_input(n, side, x);
    g.set_input(
        n, 1 - side,
        b.constant(g.value(x).type.dtype() == DType::i64
                       ? Tensor::from<std::int64_t>(shape, {*number})
                       : Tensor::from<std::int32_t>(shape, {static_cast<std::int32_t>(*number)})));
    return true;
  }
  return false;
}

}  // namespace

bool compare_integers(Graph& g) {
  return rewrite_nodes(g, [&](NodeId n) { return narrow_comparison(g, n); });
}

}  // namespace rondel::passes
