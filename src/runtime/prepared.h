#pragma once
#include "runtime/layout.h"

#include <rondel/tensor.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rondel::runtime {

/// Which properties of its inputs' strides a step depends on.
enum class Strides : std::uint8_t { none, contiguity, all };

/// The key of something that was prepared for some inputs: their shapes, strides as far as they
/// matter, and the elements of inputs whose values matter. For inputs that are no tensors only that
/// fact counts: their declared type holds.
class InputKeys {
 public:
  InputKeys(std::span<const Value> inputs, std::span<const std::size_t> value_inputs, Strides);
  /// Whether it fits what is in these slots of a frame; -1 is no slot.
  template <class Frame> bool fit(Frame& frame, std::span<const Slot> slots) const {
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (slots[k] >= 0 && !fits(keys_[k], frame[slots[k]])) return false;
    return true;
  }

 private:
  struct Key {
    bool tensor = false, contiguous = true;
    Shape shape, strides;
    Tensor value;  ///< of an input whose elements count
  };
  bool fits(const Key&, const Value&) const;
  Strides what_counts_;
  std::vector<Key> keys_;
};

/// A small cache of things that a step prepared, most recently used first: where shapes alternate,
/// none is prepared again.
template <class T> class MruCache {
 public:
  /// The entry for such inputs, or null.
  template <class Frame> T* find(Frame& frame, std::span<const Slot> slots) {
    for (auto it = known_.begin(); it != known_.end(); ++it) {
      if (!(*it)->keys.fit(frame, slots)) continue;
      if (it != known_.begin()) std::rotate(known_.begin(), it, it + 1);
      return &known_.front()->prepared;
    }
    return nullptr;
  }
  /// Kept until `most` others have been added or used.
  T& add(InputKeys keys, T prepared) {
    if (known_.size() == most) known_.pop_back();
    known_.insert(known_.begin(), std::make_unique<Entry>(std::move(keys), std::move(prepared)));
    return known_.front()->prepared;
  }
  template <class F> void each(const F& f) {
    for (const auto& entry : known_) f(entry->prepared);
  }

 private:
  static constexpr std::size_t most = 8;
  struct Entry {
    Entry(InputKeys k, T p) : keys(std::move(k)), prepared(std::move(p)) {}
    InputKeys keys;
    T prepared;
  };
  std::vector<std::unique_ptr<Entry>> known_;
};

}  // namespace rondel::runtime
