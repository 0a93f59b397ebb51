#pragma once
#include <rondel/tensor.h>

#include "base/cache_key.h"

#include <span>

namespace rondel::session {

/// Ranks and extents of all tensors, and the elements of tensors whose values matter. Inputs that
/// are no tensors count only as such.
CacheKey exact_key(std::span<const Value> inputs, std::span<const std::size_t> value_inputs);

}  // namespace rondel::session
