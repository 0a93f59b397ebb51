#pragma once
#include <cstddef>
#include <memory>

/// Memory for elements.
namespace rondel {

/// Allocates at least `bytes` bytes, 64-byte aligned, contents unspecified. Null if the system has
/// no memory. Before a large block is allocated, this waits for pending releases (base/release.h);
/// the wait can be cancelled (base/cancellation.h).
void* take_block(std::size_t bytes);
/// Frees a block from `take_block(bytes)`; null is ignored. A large block is freed soon, on another
/// thread: see base/release.h.
void give_back_block(void* block, std::size_t bytes) noexcept;

struct GiveBackBlock {
  std::size_t bytes = 0;
  void operator()(void* block) const noexcept { give_back_block(block, bytes); }
};
/// A block with one owner.
using OwnedBlock = std::unique_ptr<void, GiveBackBlock>;
inline OwnedBlock take_owned_block(std::size_t bytes) {
  return {take_block(bytes), GiveBackBlock{bytes}};
}

}  // namespace rondel
