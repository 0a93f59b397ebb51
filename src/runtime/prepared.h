#pragma once
#include "runtime/content.h"
#include "runtime/layout.h"

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
/// fact counts: their declared type holds. The number of the last fitting input's form is kept, so
/// that the next input of that form fits without its extents being compared.
class InputKeys {
 public:
  InputKeys() = default;
  /// Of what is in these slots of a frame; -1 is no slot.
  template <class Frame>
  InputKeys(Frame& frame, std::span<const Slot> slots, std::span<const std::size_t> value_inputs,
            Strides what_counts) {
    set(frame, slots, value_inputs, what_counts);
  }
  /// Makes it the key of what is in these slots.
  template <class Frame>
  void set(Frame& frame, std::span<const Slot> slots, std::span<const std::size_t> value_inputs,
           Strides what_counts) {
    is_set_ = false;
    what_counts_ = what_counts;
    keys_.resize(slots.size());
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (slots[k] >= 0) set(keys_[k], frame.content(slots[k]));
    for (const std::size_t k : value_inputs)
      if (k < slots.size() && slots[k] >= 0) set_elements(keys_[k], frame[slots[k]]);
    hash_ = hash_of_extents(frame, slots);
    is_set_ = true;
  }
  /// Of all extents in these slots. A key whose hash is another does not fit them.
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
  /// Fits nothing from now on.
  void clear() { is_set_ = false; }
  /// Whether all forms in these slots are the ones that fitted last, and elements that matter are
  /// the same.
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
  /// Whether it fits what is in these slots.
  template <class Frame> bool fit(Frame& frame, std::span<const Slot> slots) {
    if (!is_set_) return false;
    for (std::size_t k = 0; k < slots.size(); ++k)
      if (slots[k] >= 0 && !fits(keys_[k], frame.content(slots[k]))) return false;
    return true;
  }
  /// The extents and strides of input k, a tensor, as it fitted last. They stay where they are.
  const Shape& shape(std::size_t k) const { return keys_[k].shape; }
  const Shape& strides(std::size_t k) const { return keys_[k].strides; }

 private:
  struct Key {
    Form form = not_a_tensor;  ///< of `shape` and `strides`
    bool tensor = false, contiguous = true, by_elements = false;
    Shape shape, strides;
    Tensor elements;
  };
  static void set(Key&, Content&);
  static void set_elements(Key&, const Value&);
  static bool has_elements(const Key&, const Tensor&);
  bool fits(Key&, Content&) const;

  bool is_set_ = false;
  std::uint64_t hash_ = 0;
  Strides what_counts_ = Strides::all;
  std::vector<Key> keys_;
};

/// A small cache of things that a step prepared, most recently used first: where shapes alternate,
/// none is prepared again.
template <class T> class MruCache {
 public:
  struct Entry {
    Entry() = default;
    Entry(InputKeys k, T p) : keys(std::move(k)), prepared(std::move(p)) {}
    InputKeys keys;
    T prepared;
  };
  /// The entry for such inputs, or null.
  template <class Frame> T* find(Frame& frame, std::span<const Slot> slots) {
    if (!known_.empty() && known_.front()->keys.forms_match(frame, slots)) [[likely]]
      return &known_.front()->prepared;
    return find_among_all(frame, slots);
  }
  /// Kept until `most` others have been added or used.
  Entry& add(InputKeys keys, T prepared) {
    if (known_.size() == most) known_.pop_back();
    known_.insert(known_.begin(), std::make_unique<Entry>(std::move(keys), std::move(prepared)));
    return *known_.front();
  }
  /// The same, to be filled in and to be given its keys: what is in it is of no use any more, but
  /// its memory is.
  Entry& reuse() {
    return reuse([](const T&) { return true; });
  }
  /// The same; if possible one in which there is what `fits`.
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
