#pragma once
#include "ops/meaning.h"

/// Ops applied to each element of stacks as one call. Element-wise ops are batchable by what they
/// are; others state a rule, often one of these.
namespace rondel::ops {

/// The outputs of any node, as its op's `BatchRule` has them. Some operand is stacked.
std::vector<ir::ValueId> batched(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);

/// The rules of ops that take a stack in their first input alone (but for element-wise ones):
/// - as it is, because they treat all axes before the last ones alike;
std::vector<ir::ValueId> only_first_stacked(ir::Builder&, const ir::Node&,
                                            std::span<const ir::Batch>);
/// - as they are, the attribute `axis` counted from the end of each input;
std::vector<ir::ValueId> along_axis(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// - as they are, the list of axes in the second input counted from the end;
std::vector<ir::ValueId> along_axes(ir::Builder&, const ir::Node&, std::span<const ir::Batch>);
/// - as more elements along their own first axis.
std::vector<ir::ValueId> merged_into_first_axis(ir::Builder&, const ir::Node&,
                                                std::span<const ir::Batch>);

/// The rank of an operand for one element of the stack; nothing where it is not known.
std::optional<std::int64_t> element_rank(const ir::Builder&, const ir::Batch&);
/// A constant list of axes of a tensor of `rank`, counted from its end; nothing of any other list.
std::optional<ir::ValueId> counted_from_end(ir::Builder&, ir::ValueId axes, std::int64_t rank);
/// Whether the first operand is stacked and no other is.
bool stacked_first(std::span<const ir::Batch>);
/// An operand's value with `count` axes of extent 1 put in at `axis`.
ir::ValueId with_ones(ir::Builder&, ir::ValueId, std::int64_t axis, std::int64_t count);
/// The node's op on other operands.
std::vector<ir::ValueId> same_call(ir::Builder&, const ir::Node&, std::vector<ir::ValueId> inputs,
                                   ir::Attributes);
std::vector<ir::ValueId> values_of(std::span<const ir::Batch>);

}  // namespace rondel::ops
