#include "base/block.h"

#include "base/release.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <limits>

namespace rondel {
namespace {

/// Blocks of at least this many bytes lie in huge pages where the system has them, as NumPy's do: a
/// gradient that keeps 410 MB took 366 ms with small pages, a third of it in page faults, and takes
/// 275 with huge ones.
constexpr std::size_t least_in_huge_pages = std::size_t{4} << 20;

/// Only a wish, which the system may refuse.
void ask_for_huge_pages(void* block, std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  static const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto start = reinterpret_cast<std::uintptr_t>(block);
  const std::uintptr_t first = (start + page - 1) / page * page;
  ::madvise(reinterpret_cast<void*>(first), (start + bytes - first) / page * page, MADV_HUGEPAGE);
#endif
}

}  // namespace

void* take_block(std::size_t bytes) {
  constexpr std::size_t alignment = 64;
  if (bytes > std::numeric_limits<std::size_t>::max() - alignment) return nullptr;
  if (bytes >= least_released_later) wait_for_releases();
  const std::size_t rounded = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment;
  void* block = std::aligned_alloc(alignment, rounded * alignment);
  if (block != nullptr && bytes >= least_in_huge_pages) ask_for_huge_pages(block, bytes);
  return block;
}

void give_back_block(void* block, std::size_t bytes) noexcept {
  if (block == nullptr || bytes < least_released_later) return std::free(block);
  release_later(block, [bytes](void* b) {
    give_back_pages(b, bytes);
    std::free(b);
  });
}

}  // namespace rondel
