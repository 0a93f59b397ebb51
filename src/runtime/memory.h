#pragma once
#include <rondel/tensor.h>

#include <cstddef>
#include <functional>
#include <memory>

namespace rondel::runtime {

/// Called between the parts of what may take long; may throw.
using Look = std::function<void()>;

/// The memory of a session: every block a run uses comes from here, is counted against one budget
/// before it is made, and goes back to a pool when its last reader lets go. A handle: copies share
/// budget and pool. Thread-safe.
class Memory {
 public:
  explicit Memory(std::size_t budget_bytes);

  /// Contents unspecified (strings: empty). Throws Error(limit) when the budget does not allow it,
  /// or no memory could.
  Tensor allocate(DType, Shape, const Look& = {});
  /// Counts the text of strings in blocks of ours, which nobody can know before it is made: once a
  /// block, when it has been written. What others own (feeds, constants) is left alone.
  void count_text(const Value&, const Look& = {});
  /// The same for a part of a block that has just been written.
  void count_written_text(const Tensor&, const Look& = {});
  /// Counts bytes that live elsewhere (reserved address space) against the budget.
  void claim(std::size_t bytes);
  void unclaim(std::size_t bytes);
  /// Bytes in use now.
  std::size_t in_use() const;

 private:
  struct Pool;
  struct Strings;
  struct StringsOwner;
  Tensor allocate_strings(Shape shape, std::size_t bytes, const Look&);
  std::shared_ptr<Pool> pool_;
};

}  // namespace rondel::runtime
