#pragma once
#include <cstddef>
#include <memory>
#include <new>

/// Letting go elsewhere of what takes long: to give back a gigabyte takes some hundred
/// milliseconds, and a run that was told to end has one.
namespace rondel {

/// Blocks from this size on are given back by another thread.
inline constexpr std::size_t least_released_later = std::size_t{16} << 20;

/// Lets go of `last` on another thread, soon.
void release_later(std::shared_ptr<void> last) noexcept;

/// Calls release(what) on another thread, soon (here where there is no memory for that). It must
/// need neither locks of ours nor code of others: a Python object may not come here.
template <class T, class F> void release_later(T* what, F release) noexcept {
  try {
    release_later(std::shared_ptr<void>(what, [release](void* w) { release(static_cast<T*>(w)); }));
  } catch (const std::bad_alloc&) {}  // what is not shared has been released
}

/// Waits until all that was to be released has been: called before much memory is asked for, so
/// that no more is ever resident than if each block had been given back at once.
void wait_for_releases() noexcept;

}  // namespace rondel
