#pragma once
#include "ops/meaning.h"

/// Shared by ops on sequences and optionals.
namespace rondel::ops {

/// Requires that input k is a sequence; returns the type of its elements.
const ir::Type& element_type(const ir::TypeContext&, std::size_t k);
/// A position in a sequence of n; negative ones count from the end. Valid: [-n, n), and n too
/// where `end` allows it.
std::size_t position_in(const Value& position, std::size_t n, bool end);
/// A plain kernel without attributes.
std::shared_ptr<const ir::Meaning> plain_kernel(void (*)(kernels::UnsizedCall&));
/// The work of one item, in units of kernels::StopCheck.
inline constexpr std::int64_t item_units = 100;
/// Items of a future sequence. A long list is released on another thread (base/release.h), here and
/// in the sequence that is made of it.
using Items = std::shared_ptr<std::vector<Tensor>>;
Items make_items();
/// The items of a sequence, for a kernel to change: the sequence's own list where it has no other
/// holder, else a copy. There is room for one more item.
Items items_to_change(const kernels::UnsizedCall& call, Sequence);

}  // namespace rondel::ops
