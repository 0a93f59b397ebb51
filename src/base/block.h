#pragma once
#include <cstddef>
#include <memory>

/// Memory for elements.
namespace rondel {

/// At least `bytes` bytes, 64-byte aligned, contents unspecified; null when the system has none.
/// A large block waits until others have been given back; the wait can be cancelled
/// (base/cancellation.h).
void* take_block(std::size_t bytes);
/// Gives back what `take_block(bytes)` gave; null is nothing. A large block goes on another thread,
/// soon: see base/release.h.
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
