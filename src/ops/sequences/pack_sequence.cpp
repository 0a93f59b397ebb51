#include "base/checked.h"
#include "kernels/stop_check.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The axis along which the tensors lie: one of theirs, or a new one.
std::size_t axis_of(const ir::Attributes& a) {
  const std::int64_t rank = a.type("item").rank() + (a.flag("new_axis") ? 1 : 0);
  return static_cast<std::size_t>(normal_axis(a.i("axis"), rank));
}

void pack_rule(ir::TypeContext& c) {
  const ir::Type &item = c.attributes().type("item"), &given = element_type(c, 0);
  require(item.is_tensor() && item.has_rank(), "'item' is {}; expected a tensor with a rank",
          to_text(item));
  require(item.dtype() == given.dtype(), "the sequence has tensors of {}, not {}",
          name(given.dtype()), name(item.dtype()));
  const std::size_t axis = axis_of(c.attributes());
  ir::Extents block = item.extents();
  if (c.attributes().flag("new_axis"))
    block.insert(block.begin() + static_cast<std::ptrdiff_t>(axis), ir::Extent());
  block[axis] = {};
  for (const ir::Extent& e : block)
    require(e.known() || &e == &block[axis],
            "'item' is {}; expected numbers but for the extent along the axis", to_text(item));
  c.output(0, ir::Type::tensor(item.dtype(), std::move(block)));
  if (c.output_count() > 1) c.output(1, ir::Type::ranked(DType::i64, 1));
}

kernels::UnsizedKernel packer(const ir::Node& node, std::span<const ir::Type>) {
  ir::Extents extents = node.attributes.type("item").extents();
  const bool has_new_axis = node.attributes.flag("new_axis");
  const std::size_t axis = axis_of(node.attributes);
  return [has_new_axis, axis, extents = std::move(extents)](kernels::UnsizedCall& call) {
    const Sequence& list = call.value(0).sequence();
    Shape shape;
    for (const ir::Extent& e : extents) shape.push_back(e.known() ? e.value : 0);
    if (has_new_axis) shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(axis), 0);
    const auto extent_of = [&](const Tensor& t) { return has_new_axis ? 1 : t.shape()[axis]; };
    std::vector<std::int64_t> bounds{0};
    kernels::StopCheck stop(call);
    for (const Tensor& t : *list.items) {
      stop.add_work(item_units);
      require(fits(ir::Type::of(t), ir::Type::tensor(t.dtype(), extents)),
              "{} does not fit among the tensors of the sequence", to_text(t.dtype(), t.shape()));
      bounds.push_back(checked_add(bounds.back(), extent_of(t)));
    }
    shape[axis] = bounds.back();
    const Tensor y = call.make(0, list.dtype, shape);
    for (std::size_t i = 0; i + 1 < bounds.size(); ++i) {
      Shape part = shape;
      part[axis] = bounds[i + 1] - bounds[i];
      const Tensor target = y.strided(y.size() > 0 ? bounds[i] * y.strides()[axis] : 0, part,
                                      y.strides());
      stop.add_work(item_units);
      stop.assign((*list.items)[i],
                  has_new_axis ? target.at(static_cast<std::int64_t>(axis), 0) : target);
    }
    if (call.output_count() < 2) return;
    std::ranges::copy(bounds,
                      call.make(1, DType::i64, {std::ssize(bounds)}).data_as<std::int64_t>());
  };
}

/// What `passes/pack_lists` makes of a list that a graph is given.
const ir::OpEntry pack_sequence{{
    .name = "pack_sequence",
    .doc = "the tensors of a sequence, each of type `item`, in one tensor: joined along an axis, a "
           "new one with `new_axis`; and where along the axis each begins and the last ends",
    .inputs = {{"sequence"}},
    .outputs = {"block", "bounds"},
    .attributes = {{"axis", std::int64_t{0}}, {"new_axis", std::int64_t{0}}},
    .required = {"item"},
    .type = pack_rule,
    .meaning = unsized_kernel(packer),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
