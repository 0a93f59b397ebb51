#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

namespace rondel {

/// A cache key: everything that determines the cached value, encoded as integers.
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

/// Appends the length of a string, then its bytes. The bytes may be any data.
void add_text(CacheKey&, std::string_view);

}  // namespace rondel
