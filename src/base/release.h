#pragma once
#include <cstddef>
#include <memory>
#include <new>

/// Deferred release of memory: to release a gigabyte takes some hundred milliseconds, and a run
/// that was told to end has one millisecond.
namespace rondel {

/// Blocks of this size and more are released by another thread.
inline constexpr std::size_t least_released_later = std::size_t{16} << 20;

/// Drops `last` on another thread, soon. Its deleter must not wait for code that may itself wait
/// for releases: the owner of a Python tensor does not wait for the GIL.
void release_later(std::shared_ptr<void> last) noexcept;

/// Calls release(what) on another thread, soon (on this thread where memory for that is lacking),
/// under the same conditions.
template <class T, class F> void release_later(T* what, F release) noexcept {
  try {
    release_later(std::shared_ptr<void>(what, [release](void* w) { release(static_cast<T*>(w)); }));
  } catch (const std::bad_alloc&) {}  // what is not shared has been released
}

/// Waits until everything passed here so far is released, for a second at most; the wait can be
/// cancelled (base/cancellation.h). Called before a large block is allocated, so that blocks that
/// are being released do not add to it.
void wait_for_releases();

/// Returns the pages of a block to the system, in parts: one large call would block other threads'
/// memory mapping for its whole time.
void give_back_pages(void* block, std::size_t bytes) noexcept;

}  // namespace rondel
