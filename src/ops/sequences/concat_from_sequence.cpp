#include "base/checked.h"
#include "kernels/stop_check.h"
#include "ops/gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void join_rule(ir::TypeContext& c) {
  const ir::Type& element = element_type(c, 0);
  if (!element.has_rank()) return c.output(0, ir::Type::unranked(element.dtype()));
  const bool has_new_axis = c.attributes().flag("new_axis");
  const std::int64_t rank = element.rank() + (has_new_axis ? 1 : 0);
  const std::int64_t axis = normal_axis(c.attributes().i("axis"), rank);
  ir::Extents extents = element.extents();
  if (has_new_axis) extents.insert(extents.begin() + axis, ir::Extent());
  else extents[static_cast<std::size_t>(axis)] = ir::Extent();
  c.output(0, ir::Type::tensor(element.dtype(), std::move(extents)));
}

kernels::UnsizedKernel joiner(const ir::Node& node, std::span<const ir::Type>) {
  const bool has_new_axis = node.attributes.flag("new_axis");
  return [has_new_axis, wanted = node.attributes.i("axis")](kernels::UnsizedCall& call) {
    const auto& items = *call.value(0).sequence().items;
    require(!items.empty(), "the sequence is empty; there is nothing to join");
    const std::int64_t rank = items[0].rank() + (has_new_axis ? 1 : 0);
    const auto axis = static_cast<std::size_t>(normal_axis(wanted, rank));
    Shape shape = items[0].shape();
    if (has_new_axis) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    else shape[axis] = 0;
    kernels::StopCheck stop(call);
    for (const Tensor& t : items) {
      stop.add_work(item_units);
      Shape expected = items[0].shape();
      if (!has_new_axis && t.rank() == items[0].rank()) expected[axis] = t.shape()[axis];
      if (t.shape() != expected)
        fail("{} and {} cannot be joined along axis {}", to_text(t.dtype(), t.shape()),
             to_text(items[0].dtype(), items[0].shape()), axis);
      shape[axis] = checked_add(shape[axis], has_new_axis ? 1 : t.shape()[axis]);
    }
    const Tensor y = call.make(0, items[0].dtype(), shape);
    std::int64_t offset = 0;
    for (const Tensor& t : items) {
      Shape part = y.shape();
      part[axis] = has_new_axis ? 1 : t.shape()[axis];
      const Tensor target = y.strided(y.size() > 0 ? offset * y.strides()[axis] : 0, part,
                                      y.strides());
      stop.add_work(item_units);
      stop.assign(t, has_new_axis ? target.at(static_cast<std::int64_t>(axis), 0) : target);
      offset += part[axis];
    }
  };
}

/// The extents along `axis` of the tensors of a sequence, i64[length].
ir::ValueId extents_along(ir::Builder& b, ir::ValueId sequence, std::int64_t axis) {
  ir::LoopParts p;
  p.has_trips = true;
  p.stacks = 1;
  const ir::ValueId length = b("sequence_length", {sequence});
  return b.loop(p, {length}, [&](ir::Builder& inner, std::span<const ir::ValueId> params) {
    const ir::ValueId item = inner("sequence_at", {sequence, params[0]});
    return std::vector{params[1], inner("gather", {inner("shape", {item}), inner.scalar(axis)})};
  })[0];
}

std::vector<ir::ValueId> join_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ir::ValueId> adjoints) {
  const std::int64_t axis = node.attributes.i("axis");
  if (node.attributes.flag("new_axis"))
    return {b("split_to_sequence", {adjoints[0]}, {{"axis", axis}, {"keepdims", 0}})};
  return {b("split_to_sequence", {adjoints[0], extents_along(b, node.inputs[0], axis)},
            {{"axis", axis}})};
}

const ir::OpEntry concat_from_sequence{{
    .name = "concat_from_sequence",
    .doc = "the tensors of a sequence joined along an axis, a new one with `new_axis`",
    .inputs = {{"sequence"}},
    .outputs = {"joined"},
    .attributes = {{"new_axis", std::int64_t{0}}},
    .required = {"axis"},
    .type = join_rule,
    .meaning = unsized_kernel(joiner),
    .can_fail = true,
    .gradient = join_gradient,
}};

}  // namespace
}  // namespace rondel::ops
