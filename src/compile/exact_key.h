#pragma once
#include <rondel/tensor.h>

#include "base/cache_key.h"

#include <span>

namespace rondel::compile {

/// A cache key of the ranks and extents of all tensors, and of the elements of `value_inputs`. The
/// key records that an input is no tensor, but not its value.
CacheKey exact_key(std::span<const Value> inputs, std::span<const std::size_t> value_inputs);

}  // namespace rondel::compile
