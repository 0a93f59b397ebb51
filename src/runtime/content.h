#pragma once
#include "runtime/memory.h"

#include <rondel/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

namespace rondel::runtime {

/// A number for the dtype, extents and strides of a tensor: tensors of the same number have the
/// same of these. Of two numbers that differ nothing follows. 0: no number was given.
using Form = std::uint64_t;
/// Of every value that is no tensor.
inline constexpr Form not_a_tensor = ~Form{0};

/// A number that nothing has yet. Thread-safe.
Form new_form();

/// A type that a step gives its output, row-major, with its number.
struct OutputForm {
  OutputForm() = default;
  OutputForm(DType, Shape);

  DType dtype = DType::f32;
  Shape shape, strides;
  std::int64_t bytes = 0;
  Form form = 0;
};

/// What a slot of a frame holds: a value, and what the frame remembers of it so that the next trip
/// need not ask.
class Content {
 public:
  const Value& value() const { return value_; }
  /// Null where the value is no tensor.
  const Tensor* tensor() const { return std::get_if<Tensor>(&value_); }
  /// The number of its form; 0 where it has none yet.
  Form form() const { return form_; }
  /// For a tensor whose form has no number.
  void number_form() { form_ = new_form(); }

  void clear() { set(Value()); }
  void set(Value v) {
    value_ = std::move(v);
    form_ = tensor() == nullptr ? not_a_tensor : 0;
    forget_place();
  }
  /// A tensor of that form.
  void set(Tensor t, Form form) {
    value_ = std::move(t);
    form_ = form;
    forget_place();
  }
  /// A tensor of that form, made here: elements of `owner`'s block from `data` on. Nothing that is
  /// given stands in this content.
  void set_view(DType dtype, const Shape& shape, const Shape& strides, void* data,
                const std::shared_ptr<void>& owner, Form form) {
    value_.emplace<Tensor>(dtype, shape, strides, data, owner);
    form_ = form;
    forget_place();
  }
  /// Takes over the number of this type where the value is a tensor of that type.
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
  /// The same memory, seen as another type that it can hold.
  void reform(const OutputForm& type) {
    const Tensor& t = *tensor();
    value_ = Tensor(type.dtype, type.shape, type.strides, t.data(), t.owner());
    form_ = type.form;
  }
  /// Of that form, at the slot's range of the frame's arena.
  void set_in_arena(Tensor t, Form form) {
    set(std::move(t), form);
    in_arena_ = true;
  }
  /// The frame's arena is laid out anew: the value is at no range.
  void leave_arena() { in_arena_ = false; }
  bool in_arena() const { return in_arena_; }

  /// The bytes of the block that the tensor begins, where it is ours and has no other holder, so
  /// that it may be written again; else 0.
  std::size_t bytes_if_alone() {
    const Tensor* t = tensor();
    if (t == nullptr || t->owner().use_count() != 1) return 0;
    if (block_bytes_ < 0) block_bytes_ = static_cast<std::ptrdiff_t>(Memory::bytes_if_alone(*t));
    // A former holder may have read it on another thread.
    std::atomic_thread_fence(std::memory_order_acquire);
    return static_cast<std::size_t>(block_bytes_);
  }
  /// Whether it holds a tensor of this form, a number of an `OutputForm`, that may be written over.
  bool may_be_written(Form form) { return form_ == form && (in_arena_ || bytes_if_alone() != 0); }

 private:
  void forget_place() {
    block_bytes_ = -1;
    in_arena_ = false;
  }

  Value value_;
  Form form_ = not_a_tensor;
  std::ptrdiff_t block_bytes_ = -1;  ///< of the block that the tensor begins; -1: not asked
  bool in_arena_ = false;
};

}  // namespace rondel::runtime
