#pragma once
#include <rondel/export.h>

#include <memory>
#include <utility>

namespace rondel {

/// Throws Error(caller): an object is used that was moved from.
[[noreturn]] RONDEL_API void used_after_move();

/// What an object of a movable class holds. Once the object has been moved from, each use throws
/// Error(caller), until another object is assigned to it.
template <class T> class Handle {
 public:
  Handle(std::unique_ptr<T> held) : held_(std::move(held)) {}
  T& operator*() const {
    if (held_ == nullptr) used_after_move();
    return *held_;
  }
  T* operator->() const { return &**this; }

 private:
  std::unique_ptr<T> held_;
};

}  // namespace rondel
