#pragma once
#include <rondel/tensor.h>

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace rondel::session {

/// The key of a cache: a class of inputs, or their exact extents, as integers.
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

/// Ranks and extents of all tensors, and the elements of tensors whose values matter. Inputs that
/// are no tensors count only as such.
CacheKey exact_key(std::span<const Value> inputs, std::span<const std::size_t> value_inputs);

void add_text(CacheKey&, std::string_view);

}  // namespace rondel::session
