#pragma once
#include "base/checked.h"
#include "base/kernel_fn.h"

#include <cstddef>
#include <cstdint>

namespace rondel::kernels {

/// A workspace, handed out part by part, each aligned to 64 bytes. Without one it only counts, so
/// that a kernel lays its workspace out in one function, which asking for the size and running
/// both call.
class Workspace {
 public:
  Workspace() = default;
  explicit Workspace(const View& view) : base_(static_cast<char*>(view.data)) {}

  /// Contents unspecified; null while counting.
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
