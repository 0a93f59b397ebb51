#pragma once
#include "ops/meaning.h"

/// Shared by ops on sequences and optionals.
namespace rondel::ops {

/// Requires that input k is a sequence; returns the type of its elements.
const ir::Type& element_type(const ir::TypeContext&, std::size_t k);
/// `position` in a sequence of n tensors, counted from the front. Negative positions count from the
/// end. Valid positions are in [-n, n), or in [-n, n] if `end`; others are an error.
std::size_t position_in(const Value& position, std::size_t n, bool end);
/// Requires that input k may be a position: one integer.
void require_position(const ir::TypeContext&, std::size_t k);
/// A value that is no optional, where one might be. A tensor is copied: the result of a kernel that
/// reads and makes tensors alone has memory of its own.
Value passed_on(const Value&);
/// The meaning of an op that is a kernel function without attributes.
std::shared_ptr<const ir::Meaning> plain_kernel(void (*)(kernels::UnsizedCall&));
/// The work of processing one item, in units of kernels::StopCheck.
inline constexpr std::int64_t item_units = 100;
/// The items of a sequence that is being built. A long list is released on another thread
/// (base/release.h), also after a sequence has been made of it.
using Items = std::shared_ptr<std::vector<Tensor>>;
Items make_items();
/// The items of a sequence in a list that the kernel may change: the list of the sequence itself if
/// nothing else holds it, else a copy. The list has capacity for one more item.
Items items_to_change(const kernels::UnsizedCall& call, Sequence);

}  // namespace rondel::ops
