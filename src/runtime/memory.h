#pragma once
#include <rondel/tensor.h>

#include <cstddef>
#include <memory>

namespace rondel::runtime {

/// The memory of a session. Every block that a run uses comes from here, is counted against one
/// budget before it is made, and returns to a pool when its last holder drops it. A handle: copies
/// share budget and pool. Thread-safe. Long operations check for cancellation
/// (base/cancellation.h).
class Memory {
 public:
  explicit Memory(std::size_t budget_bytes);

  /// Contents unspecified (strings: empty). Throws Error(limit) when the budget does not allow it,
  /// or no memory could.
  Tensor allocate(DType, Shape);
  /// Counts the text of strings in blocks of ours, whose size is not known before it is written. To
  /// be called once for each block, after it has been written. Feeds and constants are not counted.
  void count_text(const Value&);
  /// The same for a part of a block that has just been written.
  void count_written_text(const Tensor&);
  /// Counts bytes that live elsewhere (reserved address space) against the budget.
  void claim(std::size_t bytes);
  void unclaim(std::size_t bytes);
  /// Bytes in use now.
  std::size_t in_use() const;
  /// The bytes of the block that this tensor begins, where the block is ours and has no other
  /// holder, so that it may be written again; else 0. Always 0 for blocks of strings.
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
