#include "base/cache_key.h"

#include <cstring>

namespace rondel {

void add_text(CacheKey& key, std::string_view text) {
  const std::size_t at = key.size(), n = text.size();
  key.push_back(static_cast<std::int64_t>(n));
  key.resize(at + 1 + (n + sizeof(std::int64_t) - 1) / sizeof(std::int64_t));
  if (n > 0) std::memcpy(&key[at + 1], text.data(), n);
}

}  // namespace rondel
