#pragma once
#include "runtime/content.h"
#include "runtime/layout.h"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace rondel::runtime {

/// The properties of its inputs' strides that a step depends on.
enum class Strides : std::uint8_t {
  none,
  contiguity,  ///< row-major, or else whether the last axis has stride 1
  all
};

/// A cache key made from a step's inputs: their shapes, the properties of their strides that the
/// step depends on, and the elements of its `value_inputs`. An input that is not a tensor matches
/// every value that is not a tensor. The key keeps the form id of the last input that matched, so
/// that the next input with this id matches without a comparison of extents.
class InputKeys {
 public:
  InputKeys() = default;
  /// The key of the values in these slots of a frame. Slot -1 is ignored.
  template <class Frame>
  InputKeys(Frame& frame, std::span<const Slot> slots, std::span<const std::size_t> value_inputs,
            Strides compared_strides) {
    set(frame, slots, value_inputs, compared_strides);
  }
  /// Sets the key to that of the values in these slots.
  template <class Frame>
  void set(Frame& frame, std::span<const Slot> slots, std::span<const std::size_t> value_inputs,
           Strides compared_strides) {
    is_set_ = false;
    compared_strides_ = compared_strides;
    keys_.resize(slots.size());
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (slots[k] >= 0) set(keys_[k], frame.content(slots[k]));
    for (const std::size_t k : value_inputs)
      if (k < slots.size() && slots[k] >= 0) set_elements(keys_[k], frame[slots[k]]);
    hash_ = hash_of_extents(frame, slots);
    is_set_ = true;
  }
  /// A hash of all extents in these slots. A key with a different hash does not match them.
  template <class Frame>
  static std::uint64_t hash_of_extents(Frame& frame, std::span<const Slot> slots) {
    std::uint64_t hash = 0;
    for (const Slot s : slots) {
      const Tensor* t = s < 0 ? nullptr : frame.content(s).tensor();
      if (t == nullptr) continue;
      for (const std::int64_t extent : t->shape())
        hash = (hash ^ static_cast<std::uint64_t>(extent)) * 0x9e3779b97f4a7c15U;
    }
    return hash;
  }
  std::uint64_t hash() const { return hash_; }
  /// From now on the key matches nothing.
  void clear() { is_set_ = false; }
  /// Whether all form ids in these slots are those that matched last, and the elements of the value
  /// inputs are equal. A fast test: false does not mean that `fit` is false.
  template <class Frame> bool forms_match(Frame& frame, std::span<const Slot> slots) const {
    if (!is_set_) return false;
    for (std::size_t k = 0; k < slots.size(); ++k) {
      if (slots[k] < 0) continue;
      const Content& c = frame.content(slots[k]);
      if (c.form() != keys_[k].form) return false;
      if (keys_[k].by_elements && !has_elements(keys_[k], *c.tensor())) return false;
    }
    return true;
  }
  /// Whether the key matches the values in these slots.
  template <class Frame> bool fit(Frame& frame, std::span<const Slot> slots) {
    if (!is_set_) return false;
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (slots[k] >= 0 && !fits(keys_[k], frame.content(slots[k]))) return false;
    return true;
  }
  /// The extents and strides of tensor input k when it matched last. The addresses of their
  /// elements are stable.
  const Shape& shape(std::size_t k) const { return keys_[k].shape; }
  const Shape& strides(std::size_t k) const { return keys_[k].strides; }

 private:
  struct Key {
    Form form = not_a_tensor;  ///< form id of the input that matched last
    bool tensor = false, contiguous = true, dense_rows = false, by_elements = false;
    Shape shape, strides;
    Tensor elements;
  };
  static void set(Key&, Content&);
  static void set_elements(Key&, const Value&);
  static bool has_elements(const Key&, const Tensor&);
  bool fits(Key&, Content&) const;

  bool is_set_ = false;
  std::uint64_t hash_ = 0;
  Strides compared_strides_ = Strides::all;
  std::vector<Key> keys_;
};

/// A small cache of what a step has prepared, most recently used first. It has several entries, so
/// that nothing is prepared again if the inputs' shapes alternate.
template <class T> class MruCache {
 public:
  struct Entry {
    Entry() = default;
    Entry(InputKeys k, T p) : keys(std::move(k)), prepared(std::move(p)) {}
    InputKeys keys;
    T prepared;
  };
  /// The entry that matches these inputs, or null.
  template <class Frame> T* find(Frame& frame, std::span<const Slot> slots) {
    if (!known_.empty() && known_.front()->keys.forms_match(frame, slots)) [[likely]]
      return &known_.front()->prepared;
    return find_among_all(frame, slots);
  }
  /// Adds an entry; it replaces the least recently used one if the cache is full.
  Entry& add(InputKeys keys, T prepared) {
    if (known_.size() == most) known_.pop_back();
    known_.insert(known_.begin(), std::make_unique<Entry>(std::move(keys), std::move(prepared)));
    return *known_.front();
  }
  /// Adds an entry without a key, for the caller to fill in. If the cache is full, this is the
  /// least recently used entry with its old contents, so that their memory can be reused.
  Entry& reuse() {
    return reuse([](const T&) { return true; });
  }
  /// The same, but if the cache is full, prefers an entry whose contents satisfy `fits`.
  template <class Fits> Entry& reuse(const Fits& fits) {
    if (known_.size() < most) known_.push_back(std::make_unique<Entry>());
    auto it = known_.end() - 1;
    if (known_.size() == most)
      if (const auto last = std::find_if(known_.rbegin(), known_.rend(),
                                         [&](const auto& e) { return fits(e->prepared); });
          last != known_.rend())
        it = last.base() - 1;
    std::rotate(known_.begin(), it, it + 1);
    known_.front()->keys.clear();
    return *known_.front();
  }
  /// The entry of these contents is found no more, and is the first to be reused.
  void forget(const T& contents) {
    const auto it = std::ranges::find_if(known_,
                                         [&](const auto& e) { return &e->prepared == &contents; });
    (*it)->keys.clear();
    std::rotate(it, it + 1, known_.end());
  }
  template <class F> void each(const F& f) {
    for (const auto& entry : known_) f(entry->prepared);
  }

 private:
  static constexpr std::size_t most = 8;

  template <class Frame> T* find_among_all(Frame& frame, std::span<const Slot> slots) {
    const std::uint64_t hash = InputKeys::hash_of_extents(frame, slots);
    const auto it = std::ranges::find_if(
        known_, [&](const auto& e) { return e->keys.hash() == hash && e->keys.fit(frame, slots); });
    if (it == known_.end()) return nullptr;
    if (it != known_.begin()) std::rotate(known_.begin(), it, it + 1);
    return &known_.front()->prepared;
  }

  std::vector<std::unique_ptr<Entry>> known_;
};

}  // namespace rondel::runtime
