#pragma once
#include <cstddef>
#include <memory>
#include <new>

/// Deferred release of memory: releasing a gigabyte takes some hundred milliseconds, and a run that
/// was told to stop must return within a millisecond.
namespace rondel {

/// Blocks of at least this many bytes are released by another thread.
inline constexpr std::size_t least_released_later = std::size_t{16} << 20;

/// Drops `last` on another thread, soon. Its deleter must not wait for code that may itself wait
/// for releases. (The owner of a Python tensor, for example, does not wait for the GIL.)
void release_later(std::shared_ptr<void> last) noexcept;

/// Calls release(what) on another thread, soon, or on this thread if there is no memory for the
/// queue entry. `release` must not wait either.
template <class T, class F> void release_later(T* what, F release) noexcept {
  try {
    release_later(std::shared_ptr<void>(what, [release](void* w) { release(static_cast<T*>(w)); }));
  } catch (const std::bad_alloc&) {}  // the constructor of shared_ptr has called the deleter
}

/// Waits until everything passed to `release_later` so far is released, for at most one second; the
/// wait can be cancelled (base/cancellation.h). Called before a large block is allocated, so that
/// the process does not hold the new block and pending blocks at the same time.
void wait_for_releases();

/// Returns the pages of a block to the system, in parts: one large call would block the memory
/// mappings of other threads until it returns.
void give_back_pages(void* block, std::size_t bytes) noexcept;

}  // namespace rondel
