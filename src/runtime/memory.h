#pragma once
#include <rondel/tensor.h>

#include <cstddef>
#include <memory>

namespace rondel::runtime {

/// The memory of a session: every block a run uses comes from here, is counted against one budget
/// before it is made, and goes back to a pool when its last reader lets go. A handle: copies share
/// budget and pool. Thread-safe. Long operations check
/// for cancellation (base/cancellation.h).
class Memory {
 public:
  explicit Memory(std::size_t budget_bytes);

  /// Contents unspecified (strings: empty). Throws Error(limit) when the budget does not allow it,
  /// or no memory could.
  Tensor allocate(DType, Shape);
  /// Counts the text of strings in blocks of ours, which nobody can know before it is made: once a
  /// block, when it has been written. What others own (feeds, constants) is left alone.
  void count_text(const Value&);
  /// The same for a part of a block that has just been written.
  void count_written_text(const Tensor&);
  /// Counts bytes that live elsewhere (reserved address space) against the budget.
  void claim(std::size_t bytes);
  void unclaim(std::size_t bytes);
  /// Bytes in use now.
  std::size_t in_use() const;
  /// The bytes of the block that this tensor begins, when it is ours and nobody else holds it, so
  /// that it may be written again; else 0. Blocks of strings are not told.
  static std::size_t bytes_if_alone(const Tensor&);

 private:
  struct Pool;
  struct Strings;
  struct StringsOwner;
  struct BlockOwner;
  Tensor allocate_strings(Shape shape, std::size_t bytes);
  std::shared_ptr<Pool> pool_;
};

}  // namespace rondel::runtime
