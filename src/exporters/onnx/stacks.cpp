#include "exporters/onnx/stacks.h"

#include "base/axis.h"

#include <limits>
#include <numeric>

namespace rondel::exporters {
namespace {

using ir::ValueId;

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

/// Elements [from, to) of a list.
ValueId part(ir::Builder& b, ValueId list, std::int64_t from, std::int64_t to) {
  return b("slice", {list, b.integers({from}), b.integers({to}), b.integers({0})});
}

ValueId joined(ir::Builder& b, std::vector<ValueId> parts) {
  return b("concat", std::move(parts), {{"axis", std::int64_t{0}}});
}

/// The same tensor with a static extent in its type. If a loop around this loop makes no trip, the
/// type is the only source of the extent.
ValueId with_static_extent(ir::Builder& b, ValueId stack, std::int64_t extent) {
  const ir::Type t = b.graph().value(stack).type;
  if (!t.has_rank()) return stack;
  ir::Ints shape{extent};
  for (std::int64_t a = 1; a < t.rank(); ++a) {
    const ir::Extent& e = t.extent(a);
    shape.push_back(e.known() ? e.value : 0);  // 0: unchanged
  }
  return b("reshape", {stack, b.integers(shape)});
}

/// Appends zeros to the items up to `extent`. If there are more items, the zeros have a negative
/// extent, which is an error at run time.
ValueId zero_extended(ir::Builder& b, ValueId stack, ValueId extent) {
  const ValueId shape = b("shape", {stack});
  const ValueId made = part(b, shape, 0, 1), item = part(b, shape, 1, to_the_end);
  const ValueId missing = b("sub", {b("reshape", {extent, b.integers({1})}), made});
  const DType t = b.graph().value(stack).type.dtype();
  const ValueId tail = b("expand", {b.constant(Tensor::zeros(t, {})), joined(b, {missing, item})});
  const ValueId whole = joined(b, {stack, tail});
  const Tensor* known = b.graph().constant(extent);
  return known == nullptr ? whole : with_static_extent(b, whole, *known->data_as<std::int64_t>());
}

/// Moves the first axis to `axis` by a Transpose of three axes: the first axis, the axes that will
/// be before it, and the axes after it.
ValueId transposed(ir::Builder& b, ValueId stack, ValueId shape, std::int64_t axis) {
  const ValueId n = part(b, shape, 0, 1), item = part(b, shape, 1, to_the_end);
  // Gather fails if an axis does not exist; those axes must exist for `axis` to be valid.
  const auto axes = [&](std::int64_t from, std::int64_t to) {
    ir::Ints all(static_cast<std::size_t>(to - from));
    std::iota(all.begin(), all.end(), from);
    return b("gather", {item, b.integers(all)});
  };
  const bool counted = axis >= 0;
  const ValueId before = counted ? axes(0, axis)
                                 : part(b, item, 0, axis == -1 ? to_the_end : axis + 1);
  const ValueId after = counted ? part(b, item, axis, to_the_end) : axes(axis + 1, 0);
  const auto reshaped = [&](ValueId x, ValueId shape_) {
    return b("reshape", {x, shape_}, {{"allowzero", std::int64_t{1}}});
  };
  const ValueId three = joined(b, {n, b("reduce_prod", {before}), b("reduce_prod", {after})});
  const ValueId y = b("transpose", {reshaped(stack, three)}, {{"perm", ir::Ints{1, 0, 2}}});
  return reshaped(y, joined(b, {before, n, after}));
}

/// Transpose needs a known rank. A stack of no trips has no other axis, because the shape of its
/// items is not known.
ValueId move_trip_axis_of_any_rank(ir::Builder& b, ValueId stack, std::int64_t axis) {
  const ValueId shape = b("shape", {stack}), one = b.scalar<std::int64_t>(1);
  const ValueId first = b("gather", {shape, b.scalar<std::int64_t>(0)});
  const ValueId nothing = b("and",
                            {b("equal", {b("size", {shape}), one}), b("less", {first, one})});
  const auto as_it_is = [&](ir::Builder& then) {
    return std::vector<ValueId>{then("identity", {stack})};
  };
  const auto turned = [&](ir::Builder& otherwise) {
    return std::vector<ValueId>{transposed(otherwise, stack, shape, axis)};
  };
  return b.if_(nothing, as_it_is, turned)[0];
}

ValueId move_trip_axis(ir::Builder& b, ValueId stack, std::int64_t axis) {
  const ir::Type t = b.graph().value(stack).type;
  if (!t.has_rank()) return move_trip_axis_of_any_rank(b, stack, axis);
  axis = axis_from_front(axis, t.rank());
  ir::Ints order;
  for (std::int64_t a = 1; a < t.rank(); ++a) order.push_back(a);
  order.insert(order.begin() + axis, 0);
  return axis == 0 ? stack : b("transpose", {stack}, {{"perm", order}});
}

}  // namespace

ValueId reversed(ir::Builder& b, ValueId x, std::int64_t axis) {
  const ValueId last = b.integers({-1});
  return b("slice", {x, last, b.integers({std::numeric_limits<std::int64_t>::min()}),
                     b.integers({axis}), last});
}

ValueId apply_stack_layout(ir::Builder& b, ValueId stack, const StackLayout& f) {
  if (f.reverse) stack = reversed(b, stack, 0);
  if (f.extent != ValueId::none) stack = zero_extended(b, stack, f.extent);
  return f.axis == 0 ? stack : move_trip_axis(b, stack, f.axis);
}

}  // namespace rondel::exporters
