#pragma once
#include "ops/meaning.h"

/// What ops on sequences and optionals share.
namespace rondel::ops {

/// Requires a sequence and gives the type of its elements.
const ir::Type& element_type(const ir::TypeContext&, std::size_t k);
/// A position in a sequence of n; negative ones count from the end. Valid: [-n, n), and n too
/// where `end` allows it.
std::size_t position_in(const Value& position, std::size_t n, bool end);
/// A plain kernel without attributes.
std::shared_ptr<const ir::Meaning> plain_kernel(void (*)(kernels::KernelCall&));
Sequence sequence_of(DType, std::vector<Tensor> items);

}  // namespace rondel::ops
