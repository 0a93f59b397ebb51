#pragma once
#include <cstddef>
#include <memory>
#include <new>

/// Letting go elsewhere of what takes long: to give back a gigabyte takes some hundred
/// milliseconds, and a run that was told to end has one.
namespace rondel {

/// Blocks from this size on are given back by another thread.
inline constexpr std::size_t least_released_later = std::size_t{16} << 20;

/// Lets go of `last` on another thread, soon. Its deleter should not wait for what may wait for
/// releases: a tensor's owner from Python does not wait for the GIL.
void release_later(std::shared_ptr<void> last) noexcept;

/// Calls release(what) on another thread, soon (here where there is no memory for that), under the
/// same conditions.
template <class T, class F> void release_later(T* what, F release) noexcept {
  try {
    release_later(std::shared_ptr<void>(what, [release](void* w) { release(static_cast<T*>(w)); }));
  } catch (const std::bad_alloc&) {}  // what is not shared has been released
}

/// Waits until what has come here so far is released, a second at most, and can be cancelled
/// (base/cancellation.h): called before a large block is taken, so that those on their way out do
/// not come on top of it.
void wait_for_releases();

/// Gives the pages within a block back to the system, in parts: giving them back at once would
/// keep other threads from mapping memory for as long.
void give_back_pages(void* block, std::size_t bytes) noexcept;

}  // namespace rondel
