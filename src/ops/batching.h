#pragma once
#include "ops/meaning.h"

#include <functional>

/// Batch rules: they replace one call for each element of some stacks by one call on the stacks.
/// Element-wise ops need no rule; other ops have a rule, often one of those in this file.
namespace rondel::ops {

/// Applies the batch rule of the node's op. At least one operand must be stacked. The result is
/// empty if the op has no rule or the rule does not apply.
std::vector<ir::ValueId> batched(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);

// The next four rules give an empty result unless the first input is the only stacked operand.

/// For an op that treats all leading axes alike: the call takes the stack unchanged.
std::vector<ir::ValueId> only_first_stacked(ir::Builder&, const ir::Node&,
                                            std::span<const ir::Batch>);
/// The call takes the stack unchanged, with the attribute `axis` counted from the end.
std::vector<ir::ValueId> along_axis(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// The call takes the stack unchanged, with the axes in the second input counted from the end.
std::vector<ir::ValueId> along_axes(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// The call takes the stack with the stack axis merged into the first axis of the elements.
std::vector<ir::ValueId> merged_into_first_axis(ir::Builder&, const ir::Node&,
                                                std::span<const ir::Batch>);

/// The rank of one element of the operand's stack; nothing if the rank is unknown.
std::optional<std::int64_t> element_rank(const ir::Builder&, const ir::Batch&);
/// `axes` of a tensor of rank `rank`, counted from the end; nothing if they are not constant.
std::optional<ir::ValueId> axes_from_end(ir::Builder&, ir::ValueId axes, std::int64_t rank);
/// Whether the first operand is stacked and no other is.
bool stacked_first(std::span<const ir::Batch>);
/// The value with `count` axes of extent 1 inserted at `axis`.
ir::ValueId with_unit_axes(ir::Builder&, ir::ValueId, std::int64_t axis, std::int64_t count);
/// The tensor in the shape of type `wanted`; `shape` gives it where `wanted` has unknown extents.
ir::ValueId reshaped_to(ir::Builder&, ir::ValueId, const ir::Type& wanted,
                        const std::function<ir::ValueId()>& shape);
/// A call of the node's op with other operands and attributes.
std::vector<ir::ValueId> same_call(ir::Builder&, const ir::Node&, std::vector<ir::ValueId> inputs,
                                   ir::Attributes);
std::vector<ir::ValueId> values_of(std::span<const ir::Batch>);

}  // namespace rondel::ops
