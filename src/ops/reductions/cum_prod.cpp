#include "base/axis.h"
#include "ops/gradients.h"
#include "ops/reductions/running.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

/// Zeros with the shape of x without `axis`, which is counted from the end.
ValueId zeros_without_axis(ir::Builder& b, ValueId x, std::int64_t axis) {
  std::vector<ValueId> parts{b("shape", {x}, {{"end", axis}})};
  if (axis < -1) parts.push_back(b("shape", {x}, {{"start", axis + 1}}));
  const ValueId shape = b("concat", std::move(parts), {{"axis", 0}});
  const ValueId zeros = b("expand", {b.scalar(dtype_of(b, x), 0), shape});
  if (const ir::Type type = b.graph().value(x).type; type.has_rank()) {
    ir::Extents extents = type.extents();
    extents.erase(extents.begin() + axis_from_front(axis, type.rank()));
    ir::Type& t = b.graph().value(zeros).type;
    t = ir::completed(t, ir::Type::tensor(type.dtype(), std::move(extents)));
  }
  return zeros;
}

/// With d the adjoint of the products, the result is
///     t[k] = d[k] + x[k + 1] t[k + 1].
/// The adjoint of x[k] is t[k] times the product of the elements before k. For exclusive products:
///     t[k] = d[k + 1] + x[k + 1] t[k + 1].
/// There is no division, so zeros in x need no special case.
ValueId sums_of_later_products(ir::Builder& b, ValueId x, ValueId d, std::int64_t axis,
                               bool exclusive, bool reverse) {
  ir::LoopParts p;
  p.states = 1;
  p.scans = 2;
  p.stacks = 1;
  p.axis_in = {axis, axis};
  p.axis_out = {axis};
  p.reverse_in = ir::Ints(2, reverse ? 0 : 1);
  p.reverse_out = ir::Ints(1, reverse ? 0 : 1);
  const auto step = [exclusive](ir::Builder& inner, std::span<const ValueId> params) {
    const ValueId later = params[2], factor = params[3], own = params[4];
    const ValueId sum = exclusive ? later : inner("add", {own, later});
    const ValueId product = inner("mul", {factor, sum});
    return std::vector{params[1], exclusive ? inner("add", {own, product}) : product, sum};
  };
  return b.loop(p, {zeros_without_axis(b, x, axis), x, d}, step)[1];
}

/// x reshaped to [before, extent, after] around an axis that is only known at run time.
ValueId around_axis(ir::Builder& b, ValueId x, ValueId axis) {
  const ValueId shape = b("shape", {x}), given = b("reshape", {axis, b.integers({1})});
  const ValueId zero = b.integers({0}), rank = b("shape", {shape});
  const ValueId at = b("mod", {as(b, given, DType::i64), rank});
  const auto product = [&](ValueId from, ValueId to) {
    return reduce_kept(b, "reduce_prod", b("slice", {shape, from, to, zero}), {0});
  };
  const ValueId next = b("add", {at, b.integers({1})});
  const ValueId around = b("concat", {product(zero, at), product(at, next), product(next, rank)},
                           {{"axis", 0}});
  return b("reshape", {x, around}, {{"allowzero", 1}});
}

std::vector<ValueId> cum_prod_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ValueId> adjoints) {
  const bool exclusive = node.attributes.flag("exclusive"),
             reverse = node.attributes.flag("reverse");
  ir::Attributes before = node.attributes;
  before.set("exclusive", 1);
  const ValueId x = node.inputs[0];
  const ValueId factors = exclusive ? node.outputs[0]
                                    : b("cum_prod", {x, node.inputs[1]}, std::move(before));
  ValueId wide = wide_value(b, x), d = wide_value(b, adjoints[0]), later = ValueId::none;
  const auto known = constant_integers(b, node, 1);
  if (known && (known->front() < 0 || b.graph().value(x).type.has_rank())) {
    const std::int64_t axis = axis_from_end(b, x, known->front());
    later = sums_of_later_products(b, wide, d, axis, exclusive, reverse);
  } else {
    wide = around_axis(b, wide, node.inputs[1]);
    d = around_axis(b, d, node.inputs[1]);
    later = with_shape_of(b, sums_of_later_products(b, wide, d, -2, exclusive, reverse), x);
  }
  return {as(b, b("mul", {wide_value(b, factors), later}), dtype_of(b, x)), ValueId::none};
}

const ir::OpEntry cum_prod{running_op(
    "cum_prod", "y = the products of the elements so far along the axis", 1,
    [](Ex a, Ex b) { return a * b; }, cum_prod_gradient)};

}  // namespace
}  // namespace rondel::ops
