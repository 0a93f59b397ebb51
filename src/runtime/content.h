#pragma once
#include "runtime/memory.h"

#include <rondel/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rondel::runtime {

/// An id for the form of a tensor: its dtype, extents and strides. Tensors with equal ids have the
/// same form. Tensors with different ids may have the same form, too. 0: no id has been assigned.
using Form = std::uint64_t;
/// The form of every value that is not a tensor.
inline constexpr Form not_a_tensor = ~Form{0};

/// Returns an unused id. Thread-safe.
Form new_form();

/// The type of an output of a step: dtype, shape, row-major strides, and the id of this form.
struct OutputForm {
  OutputForm() = default;
  OutputForm(DType, Shape);

  DType dtype = DType::f32;
  Shape shape, strides;
  std::int64_t bytes = 0;
  Form form = 0;
};

/// The content of a slot of a frame: a value, and cached facts about the value, so that they are
/// not computed again in each trip.
class Content {
 public:
  const Value& value() const { return value_; }
  /// Null if the value is not a tensor.
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  /// The id of the value's form; 0: not assigned yet.
  Form form() const { return form_; }
  /// Assigns an id to the form. The value is a tensor whose form has no id.
  void number_form() { form_ = new_form(); }

  void clear() { set(Value()); }
  void set(Value v) {
    value_ = std::move(v);
    form_ = tensor() == nullptr ? not_a_tensor : 0;
    forget_place();
  }
  /// Sets a tensor of the given form.
  void set(Tensor t, Form form) {
    value_ = std::move(t);
    form_ = form;
    forget_place();
  }
  /// Constructs a tensor of the given form in place: a view of `owner`'s block that begins at
  /// `data`. None of the arguments may be a part of this content.
  void set_view(DType dtype, const Shape& shape, const Shape& strides, void* data,
                const std::shared_ptr<void>& owner, Form form) {
    value_.emplace<Tensor>(dtype, shape, strides, data, owner);
    form_ = form;
    forget_place();
  }
  /// If the value is a row-major tensor of this type, adopts the type's form id.
  void recognise(const OutputForm& type) {
    const Tensor* t = tensor();
    if (t != nullptr && t->dtype() == type.dtype && t->shape() == type.shape &&
        t->strides() == type.strides)
      form_ = type.form;
  }
  /// Moves the value out.
  Value take() {
    Value v = std::move(value_);
    clear();
    return v;
  }
  /// Shares the value of another slot.
  void share(const Content& other) {
    value_ = other.value_;
    form_ = other.form_;
    forget_place();
  }
  /// Moves the value of another content here.
  void take_over(Content& other) {
    value_ = std::move(other.value_);
    form_ = other.form_;
    forget_place();
    other.clear();
  }
  /// Reinterprets the tensor's memory as another type, which must fit into it.
  void reform(const OutputForm& type) {
    const Tensor& t = *tensor();
    value_ = Tensor(type.dtype, type.shape, type.strides, t.data(), t.owner());
    form_ = type.form;
  }
  /// Sets a tensor of the given form that lies in the slot's range of the frame's arena.
  void set_in_arena(Tensor t, Form form) {
    set(std::move(t), form);
    in_arena_ = true;
  }
  /// Called when the frame's arena gets a new layout: the value no longer lies in the slot's range.
  void leave_arena() { in_arena_ = false; }
  bool in_arena() const { return in_arena_; }

  /// The size in bytes of the block that begins at the tensor's address, if the block comes from
  /// `Memory` and has no other owner, so that it may be overwritten; else 0.
  std::size_t bytes_if_alone() {
    const Tensor* t = tensor();
    if (t == nullptr || t->owner().use_count() != 1) return 0;
    if (block_bytes_ < 0) block_bytes_ = static_cast<std::ptrdiff_t>(Memory::bytes_if_alone(*t));
    // A former owner may have read the block on another thread.
    std::atomic_thread_fence(std::memory_order_acquire);
    return static_cast<std::size_t>(block_bytes_);
  }
  /// Whether the value is a tensor of this form (an id from an `OutputForm`) that may be
  /// overwritten.
  bool may_be_written(Form form) { return form_ == form && (in_arena_ || bytes_if_alone() != 0); }

 private:
  void forget_place() {
    block_bytes_ = -1;
    in_arena_ = false;
  }

  Value value_;
  Form form_ = not_a_tensor;
  std::ptrdiff_t block_bytes_ = -1;  ///< cached `Memory::bytes_if_alone`; -1: not computed
  bool in_arena_ = false;
};

}  // namespace rondel::runtime
