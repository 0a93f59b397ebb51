#pragma once
#include <rondel/tensor.h>

#include <cstdint>
#include <span>
#include <vector>

namespace rondel::session {

/// What a cache is asked by: a class of inputs, or their very extents, as integers.
using CacheKey = std::vector<std::int64_t>;

struct CacheKeyHash {
  std::size_t operator()(const CacheKey& key) const {
    std::uint64_t hash = key.size();
    for (const std::int64_t part : key) {
      hash = (hash ^ static_cast<std::uint64_t>(part)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29;
    }
    return hash;
  }
};

/// Ranks and extents of all tensors, and the elements of those whose values count. What is no
/// tensor is told by that alone.
CacheKey exact_key(std::span<const Value> inputs, std::span<const std::size_t> value_inputs);

}  // namespace rondel::session
