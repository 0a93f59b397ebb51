#pragma once
#include "ops/meaning.h"

/// Batch rules: one call on stacked operands in place of one call for each element of the stacks.
/// Element-wise ops need no rule; other ops state one, often one of these.
namespace rondel::ops {

/// Applies the batch rule of the node's op. At least one operand is stacked. The result is empty
/// where there is no rule, or where the rule does not apply.
std::vector<ir::ValueId> batched(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);

/// Batch rules for stacks in the first input alone; the result is empty for other stacks.
/// The op treats all axes before the last ones alike, so its call takes the stack unchanged.
std::vector<ir::ValueId> only_first_stacked(ir::Builder&, const ir::Node&,
                                            std::span<const ir::Batch>);
/// The call takes the stack unchanged, with the attribute `axis` counted from the end.
std::vector<ir::ValueId> along_axis(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// The call takes the stack unchanged, with the axes in the second input counted from the end.
std::vector<ir::ValueId> along_axes(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// The stack axis is merged into the first axis of the elements.
std::vector<ir::ValueId> merged_into_first_axis(ir::Builder&, const ir::Node&,
                                                std::span<const ir::Batch>);

/// The rank of one element of the operand's stack; nothing where the rank is not known.
std::optional<std::int64_t> element_rank(const ir::Builder&, const ir::Batch&);
/// The axes of a tensor of `rank`, counted from the end; nothing where they are not constant.
std::optional<ir::ValueId> axes_from_end(ir::Builder&, ir::ValueId axes, std::int64_t rank);
/// Whether the first operand is stacked and no other is.
bool stacked_first(std::span<const ir::Batch>);
/// An operand's value with `count` axes of extent 1 inserted at `axis`.
ir::ValueId with_unit_axes(ir::Builder&, ir::ValueId, std::int64_t axis, std::int64_t count);
/// The node's op on other operands.
std::vector<ir::ValueId> same_call(ir::Builder&, const ir::Node&, std::vector<ir::ValueId> inputs,
                                   ir::Attributes);
std::vector<ir::ValueId> values_of(std::span<const ir::Batch>);

}  // namespace rondel::ops
