#pragma once
#include "runtime/plan.h"

#include <optional>
#include <string>

namespace rondel::runtime {

/// The names, for error messages, of an item and of the joined tensor.
struct StackNames {
  std::string item, whole;
};

/// The items of a loop, joined along a new axis. If the trip count is known in advance, the result
/// is allocated once and items are written in place, on any axis, in either direction. Otherwise
/// items are appended as rows, few of them in a block of the run's memory, more in reserved address
/// space, which never moves, and copied to their final positions at the end. One object serves all
/// runs of its loop.
class Stack {
 public:
  /// `axis` is an axis of the joined tensor; negative axes count from its end.
  Stack(StackNames names, std::int64_t axis, bool reversed);
  Stack(Stack&&) noexcept = default;
  ~Stack();

  /// Begins a run of the loop. `extent`: the extent of the new axis, if it is not the trip count.
  /// `trips`: the exact trip count, if known. `before`: the old value of the stack's slot; its
  /// block is reused if it has no other owner.
  void begin(Run& run, std::optional<std::int64_t> extent, std::optional<std::int64_t> trips,
             Value before = {});
  /// Adds the item of trip t; trips come in order. All items must have the type of the first one.
  void put(std::int64_t t, const Tensor& item);
  /// For native loops: makes rows [0, to) writable. Returns the buffer for them: the result itself
  /// if the trip count is known, else a tensor [to, item...].
  Tensor prepare(DType, const Shape& item, std::int64_t to);
  /// Forgets the items: the trips run again, perhaps with items of other extents.
  void drop_items() { begun_ = false; }
  /// How many rows of a growing stack fit into its first block.
  static std::int64_t rows_at_first(DType, const Shape& item);
  /// Whether the trip count is known.
  bool certain() const { return trips_.has_value(); }
  /// The joined tensor after n trips. Requires that an item was added or `prepare` was called.
  Value finish(std::int64_t n);
  /// Drops all memory that is kept between runs of the loop.
  void release();

 private:
  void begin_items(DType, const Shape& item);
  void make_whole(std::int64_t extent, bool zeros);
  void release_strings();
  void write(const Tensor& to, const Tensor& item) const;
  void reserve_rows(std::int64_t rows);
  char* base() const;
  std::size_t room() const;
  void grow(std::size_t bytes);
  void poison_rows(std::size_t from) const;
  Tensor rows(std::int64_t n) const;
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
  char* rows_ = nullptr;                ///< destination of small row-major items, copied as bytes
  Value whole_;                         ///< the result, if the trip count is known
  Tensor block_;                        ///< the appended rows while they are few; kept between runs
  std::shared_ptr<Reserved> reserved_;  ///< the appended rows when they are more
  std::vector<Tensor> strings_;         ///< appended items of strings, not copyable as bytes
};

}  // namespace rondel::runtime
