// Scatter with a reduction on narrow floats: each sum is rounded, so the updates are applied one by
// one, in a loop.
#include "exporters/onnx/decompositions.h"
#include "exporters/onnx/int64_arithmetic.h"
#include "exporters/onnx/promotion.h"
#include "ops/compose.h"

namespace rondel::exporters {
namespace {

using ir::ValueId;
using ops::as;
using Values = std::vector<ValueId>;

ValueId listed(ir::Builder& b, ValueId x) { return b("reshape", {x, b.integers({-1})}); }

/// The flat index in x of the element that each update changes: the matching gather op, applied to
/// 0, 1, ... in the shape of x.
ValueId element_indices(ir::Builder& b, const ir::Node& n) {
  const ValueId x = n.inputs[0];
  const ValueId count = b("reduce_prod", {b("shape", {x})}, {{"keepdims", std::int64_t{0}}});
  const ValueId numbered = reshape_like(b, Int64Arithmetic(b).below(count), x);
  if (n.op->name == "scatter_nd") return b("gather_nd", {numbered, n.inputs[1]});
  return b("gather_elements", {numbered, n.inputs[1]}, {{"axis", n.attributes.i("axis", 0)}});
}

}  // namespace

Values sequential_scatter(ir::Builder& b, const ir::Node& n) {
  const DType narrow = ops::dtype_of(b, n.inputs[0]);
  const std::string reduction = n.attributes.s("reduction", "none");
  if (!is_small_float(narrow) || (reduction != "add" && reduction != "mul")) return {};
  ir::LoopParts loop;
  loop.states = 1;
  loop.scans = 2;
  loop.fixed = {1};
  loop.axis_in = loop.reverse_in = {0, 0};
  const auto updated = [&](ir::Builder& body, std::span<const ValueId> p) {
    const ValueId elements = p[2], index = body("unsqueeze", {p[3], body.integers({0})});
    const ValueId whole = body(reduction, {body("gather", {elements, index}), p[4]});
    const ValueId rounded = as(body, as(body, whole, narrow), DType::f32);
    return Values{p[1], body("scatter_elements", {elements, index, rounded})};
  };
  const auto wide = [&](ValueId x) { return listed(b, as(b, x, DType::f32)); };
  const Values all = b.loop(
      loop, {wide(n.inputs[0]), listed(b, element_indices(b, n)), wide(n.inputs[2])}, updated);
  return {b("cast", {reshape_like(b, all[0], n.inputs[0])}, narrowing_cast(narrow))};
}

}  // namespace rondel::exporters
