#include "ops/batching.h"

#include "base/axis.h"

#include <numeric>

namespace rondel::ops {
namespace {

using ir::Batch;
using ir::Builder;
using ir::Node;
using ir::ValueId;
using Inputs = std::span<const Batch>;
using Outputs = std::vector<ValueId>;

/// Inserts axes of extent 1 after the stack axis, so that the elements of all operands have the
/// same rank.
Outputs batched_elements(Builder& b, const Node& node, Inputs inputs) {
  std::int64_t rank = 0;
  for (const Batch& x : inputs) {
    if (x.value == ValueId::none) continue;
    const auto own = element_rank(b, x);
    if (!own) return {};
    rank = std::max(rank, *own);
  }
  Outputs operands = values_of(inputs);
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].stacked)
      operands[k] = with_unit_axes(b, operands[k], 1, rank - *element_rank(b, inputs[k]));
  return same_call(b, node, std::move(operands), node.attributes);
}

}  // namespace

Outputs batched(Builder& b, const Node& node, Inputs inputs) {
  if (node.op->batch) return node.op->batch(b, node, inputs);
  return is_elementwise(*node.op) ? batched_elements(b, node, inputs) : Outputs{};
}

std::optional<std::int64_t> element_rank(const Builder& b, const Batch& x) {
  const ir::Type& t = b.graph().value(x.value).type;
  if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
  return t.rank() - (x.stacked ? 1 : 0);
}

bool stacked_first(Inputs inputs) {
  return inputs[0].stacked &&
         std::ranges::none_of(inputs.subspan(1), [](const Batch& x) { return x.stacked; });
}

ValueId with_unit_axes(Builder& b, ValueId v, std::int64_t axis, std::int64_t count) {
  if (count == 0) return v;
  ir::Ints axes(static_cast<std::size_t>(count));
  std::iota(axes.begin(), axes.end(), axis);
  return b("unsqueeze", {v, b.integers(axes)});
}

ValueId reshaped_to(Builder& b, ValueId x, const ir::Type& wanted,
                    const std::function<ValueId()>& shape) {
  const ValueId list = wanted.is_static() ? b.integers(wanted.static_shape()) : shape();
  return b("reshape", {x, list}, {{"allowzero", 1}});
}

Outputs same_call(Builder& b, const Node& node, std::vector<ValueId> inputs,
                  ir::Attributes attributes) {
  return b.add(node.op->name, std::move(inputs), std::move(attributes), node.outputs.size());
}

Outputs values_of(Inputs inputs) {
  Outputs values;
  for (const Batch& x : inputs) values.push_back(x.value);
  return values;
}

Outputs only_first_stacked(Builder& b, const Node& node, Inputs inputs) {
  if (!stacked_first(inputs)) return {};
  return same_call(b, node, values_of(inputs), node.attributes);
}

Outputs along_axis(Builder& b, const Node& node, Inputs inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!stacked_first(inputs) || !rank) return {};
  ir::Attributes attributes = node.attributes;
  attributes.set("axis", axis_from_front(attributes.i("axis"), *rank) - *rank);
  return same_call(b, node, values_of(inputs), std::move(attributes));
}

std::optional<ValueId> axes_from_end(Builder& b, ValueId axes, std::int64_t rank) {
  const Tensor* list = axes == ValueId::none ? nullptr : b.graph().constant(axes);
  if (list == nullptr) return std::nullopt;
  ir::Ints counted = ir::integers_of(*list);
  for (std::int64_t& a : counted) a = axis_from_front(a, rank) - rank;
  return b.integers(counted);
}

Outputs along_axes(Builder& b, const Node& node, Inputs inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!stacked_first(inputs) || !rank || inputs.size() < 2) return {};
  const auto axes = axes_from_end(b, inputs[1].value, *rank);
  if (!axes) return {};
  return same_call(b, node, {inputs[0].value, *axes}, node.attributes);
}

Outputs merged_into_first_axis(Builder& b, const Node& node, Inputs inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!stacked_first(inputs) || !rank || *rank == 0 || node.outputs.size() != 1) return {};
  const auto extents = [&](ValueId v, std::int64_t start, std::int64_t end) {
    return b("shape", {v}, {{"start", start}, {"end", end}});
  };
  const auto reshaped = [&](ValueId v, ValueId first, ValueId others) {
    return b("reshape", {v, b("concat", {first, others}, {{"axis", 0}})}, {{"allowzero", 1}});
  };
  const ValueId stack = inputs[0].value, both = extents(stack, 0, 2);
  const ValueId count = b("reduce_prod", {both}, {{"keepdims", 1}});
  Outputs operands = values_of(inputs);
  operands[0] = reshaped(stack, count, extents(stack, 2, *rank + 1));
  const ValueId y = same_call(b, node, std::move(operands), node.attributes)[0];
  const ir::Type& t = b.graph().value(y).type;
  return {reshaped(y, both, extents(y, 1, t.rank()))};
}

}  // namespace rondel::ops
