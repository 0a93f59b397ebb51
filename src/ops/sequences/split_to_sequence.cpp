#include "base/error.h"
#include "kernels/stop_check.h"
#include "ops/gradients.h"
#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

#include <numeric>

namespace rondel::ops {
namespace {

void split_to_sequence_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  if (c.has(1)) require_dtypes(c, 1, integer_dtypes());
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::sequence(ir::Type::unranked(x.dtype())));
  const std::int64_t axis = normal_axis(c.attributes().i("axis"), x.rank());
  ir::Extents extents = x.extents();
  if (!c.has(1) && !c.attributes().flag("keepdims", true)) extents.erase(extents.begin() + axis);
  else extents[static_cast<std::size_t>(axis)] = c.has(1) ? ir::Extent() : ir::Extent(1);
  c.output(0, ir::Type::sequence(ir::Type::tensor(x.dtype(), std::move(extents))));
}

/// The lengths of the parts. If `given` is a scalar, it is the length of every part (the last part
/// may be shorter); if it is a list, it has one length for each part.
ir::Ints part_lengths(const Tensor& given, std::int64_t extent) {
  const ir::Ints list = ir::integers_of(given);
  for (const std::int64_t n : list) require(n >= 0, "a length is {}", n);
  if (given.rank() > 0) {
    const std::int64_t sum = std::accumulate(list.begin(), list.end(), std::int64_t{0});
    require(sum == extent, "the lengths add up to {}, the extent is {}", sum, extent);
    return list;
  }
  require(list[0] > 0, "parts of length {}", list[0]);
  ir::Ints lengths(static_cast<std::size_t>(extent / list[0]), list[0]);
  if (extent % list[0] > 0) lengths.push_back(extent % list[0]);
  return lengths;
}

kernels::UnsizedKernel splitter(const ir::Node& node, std::span<const ir::Type>) {
  return [wanted = node.attributes.i("axis"),
          keep = node.attributes.flag("keepdims", true)](kernels::UnsizedCall& call) {
    const Tensor& x = call.tensor(0);
    const auto axis = static_cast<std::size_t>(normal_axis(wanted, x.rank()));
    const std::int64_t extent = x.shape()[axis];
    const ir::Ints lengths = call.has(1) ? part_lengths(call.tensor(1), extent)
                                         : ir::Ints(static_cast<std::size_t>(extent), 1);
    const Items parts = make_items();
    parts->reserve(lengths.size());
    std::int64_t offset = 0;
    kernels::StopCheck stop(call);
    for (const std::int64_t n : lengths) {
      stop.add_work(item_units);
      Shape shape = x.shape();
      shape[axis] = n;
      const Tensor part = x.strided(x.size() > 0 ? offset * x.strides()[axis] : 0, shape,
                                    x.strides());
      parts->push_back(call.has(1) || keep ? part : part.at(static_cast<std::int64_t>(axis), 0));
      offset += n;
    }
    call.set(0, Sequence{x.dtype(), parts});
  };
}

/// The concatenated adjoints of the parts; zeros if there are no parts, which cannot be
/// concatenated.
std::vector<ir::ValueId> split_to_sequence_gradient(ir::Builder& b, const ir::Node& node,
                                                    std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0], parts = adjoints[0];
  const std::int64_t axis = node.attributes.i("axis");
  const bool new_axis = !has_input(node, 1) && !node.attributes.flag("keepdims", true);
  const auto joined = [&](ir::Builder& inner) {
    return std::vector{
        inner("concat_from_sequence", {parts}, {{"axis", axis}, {"new_axis", new_axis ? 1 : 0}})};
  };
  const auto zeros = [&](ir::Builder& inner) { return std::vector{zeros_like(inner, x)}; };
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  const Tensor* extent = b.graph().constant(extent_of(b, x, axis));
  const bool has_parts = extent != nullptr && ir::integers_of(*extent).front() > 0;
  const ir::ValueId none = b.scalar(std::int64_t{0});
  result[0] = has_parts ? joined(b)[0]
                        : b.if_(b("less", {none, b("sequence_length", {parts})}), joined, zeros)[0];
  return result;
}

const ir::OpEntry split_to_sequence{{
    .name = "split_to_sequence",
    .doc = "the parts of x along an axis as a sequence",
    .inputs = {{"x"}, {"lengths", ir::InputDef::optional}},
    .outputs = {"sequence"},
    .attributes = {{"axis", std::int64_t{0}}, {"keepdims", std::int64_t{1}}},
    .type = split_to_sequence_rule,
    .meaning = unsized_kernel(splitter),
    .can_fail = true,
    .gradient = split_to_sequence_gradient,
}};

}  // namespace
}  // namespace rondel::ops
