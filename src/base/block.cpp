#include "base/block.h"

#include "base/release.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

namespace rondel {

void* take_block(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  if (bytes >= least_released_later) wait_for_releases();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
  return std::aligned_alloc(alignment, rounded * alignment);
}

void give_back_block(void* block, std::size_t bytes) noexcept {
  if (block == nullptr || bytes < least_released_later) return std::free(block);
  release_later(block, [bytes](void* b) {
    give_back_pages(b, bytes);
    std::free(b);
  });
}

}  // namespace rondel
