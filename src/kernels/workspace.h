#pragma once
#include "base/checked.h"
#include "base/kernel_fn.h"

#include <cstddef>
#include <cstdint>

namespace rondel::kernels {

/// A bump allocator over the workspace of a call. Parts are aligned to 64 bytes. Without a view it
/// only counts bytes. So a kernel defines the layout of its workspace in one function, which is
/// called both to compute the size and to run.
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(const View& view) : base_(static_cast<char*>(view.data)) {}

  /// Returns memory for `count` elements with unspecified contents; null if it only counts.
  template <class T> T* take(std::int64_t count) {
    const std::int64_t at = bytes_;
    const std::int64_t size = checked_mul(count, static_cast<std::int64_t>(sizeof(T)));
    bytes_ = checked_add(bytes_, checked_add(size, 63) / 64 * 64);
    return base_ == nullptr ? nullptr : reinterpret_cast<T*>(base_ + at);
  }
  std::int64_t bytes() const { return bytes_; }

 private:
  char* base_ = nullptr;
  std::int64_t bytes_ = 0;
};

}  // namespace rondel::kernels
