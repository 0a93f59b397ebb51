#pragma once
#include "runtime/plan.h"

#include <optional>
#include <string>

namespace rondel::runtime {

/// The names, in errors, of an item and of the tensor that the items form.
struct StackNames {
  std::string item, whole;
};

/// The items of a loop, joined along a new axis. Where the number of trips (or the extent) is
/// certain the result is allocated once and written in place, on any axis, in either direction.
/// Otherwise items are appended as rows to reserved address space, which never moves, and put in
/// order once at the end. Used again for each run of its loop.
class Stack {
 public:
  /// `axis` counts in the stack's rank, negative from its end.
  Stack(StackNames names, std::int64_t axis, bool reversed);
  Stack(Stack&&) noexcept = default;
  ~Stack();

  /// For one run of the loop. `trips`: certain, if given. `before`: what the stack's slot held; it
  /// is written over where nobody else can see it.
  void begin(Run& run, std::optional<std::int64_t> extent, std::optional<std::int64_t> trips,
             Value before = {});
  /// Item of trip t; trips come in order. Its dtype and shape are those of the first.
  void put(std::int64_t t, const Tensor& item);
  /// For native loops: rows [0, to) may be written from now on. Returns the buffer they go to:
  /// the result itself where trips are certain, else [capacity, item...].
  Tensor prepare(DType, const Shape& item, std::int64_t to);
  /// Whether the number of trips is certain.
  bool certain() const { return trips_.has_value(); }
  /// The joined tensor after n trips (n > 0, or the item's type known).
  Value finish(std::int64_t n);
  /// Drops everything that is kept between runs of the loop.
  void release();

 private:
  void begin_items(DType, const Shape& item);
  void make_whole(std::int64_t extent, bool zeros);
  void let_strings_go();
  void write(const Tensor& to, const Tensor& item) const;
  void reserve_rows(std::int64_t rows);
  /// Copies the first n rows to their positions in the finished tensor.
  void put_rows(const Tensor& whole, std::int64_t n) const;
  /// The part of the finished tensor for item t of n.
  Tensor destination(const Tensor& whole, std::int64_t t, std::int64_t n) const;
  std::int64_t extent_for(std::int64_t n) const;
  Shape whole_shape(std::int64_t extent) const;

  struct Reserved;
  Run* run_ = nullptr;
  StackNames names_;
  std::int64_t axis_;
  bool reversed_;
  std::optional<std::int64_t> extent_, trips_;
  bool begun_ = false;
  DType dtype_ = DType::f32;
  Shape item_;
  std::int64_t row_bytes_ = 0;
  char* rows_ = nullptr;                ///< where items that are row-major and small are copied to
  Value whole_;                         ///< where certain
  std::shared_ptr<Reserved> reserved_;  ///< otherwise; kept between runs
  std::vector<Tensor> strings_;         ///< items of strings, which cannot be moved as bytes
};

}  // namespace rondel::runtime
