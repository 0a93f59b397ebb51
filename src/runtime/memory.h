#pragma once
#include <rondel/tensor.h>

#include <cstddef>
#include <memory>

namespace rondel::runtime {

/// The memory of a session. Every block that a run uses comes from here. A block is counted against
/// the budget before it is allocated, and returns to a pool when its last owner drops it. `Memory`
/// is a handle: copies share the budget and the pool. Thread-safe. Long operations check for
/// cancellation (base/cancellation.h).
class Memory {
 public:
  /// `checked`: check mode. Blocks are poisoned when they are allocated (base/poison.h), and some
  /// bytes behind each of them are readable.
  explicit Memory(std::size_t budget_bytes, bool checked = false);
  /// A handle with a budget of its own: what is claimed through it counts against both budgets. The
  /// pool is shared.
  Memory within(std::size_t budget_bytes) const;
  bool checked() const;
  /// The bytes behind each value that may be read: in check mode, products are seen to leave them
  /// as they are; else 0. A multiple of 64.
  std::size_t bytes_behind() const;

  /// A row-major tensor with unspecified contents (strings: empty). Throws Error(limit) if the size
  /// exceeds the budget, or if the system has not enough memory.
  Tensor allocate(DType, Shape);
  /// Counts the text of strings in blocks of this memory. The size of the text is not known before
  /// it is written: call this after a block has been written; a block is counted once. Feeds and
  /// constants are not counted.
  void count_text(const Value&);
  /// Counts the text in a part of a block that has just been written.
  void count_written_text(const Tensor&);
  /// Counts bytes that are not in blocks of this memory (reserved address space) against the
  /// budget.
  void claim(std::size_t bytes);
  void unclaim(std::size_t bytes);
  /// No longer counts the memory of a value that leaves a run, whose only owner is the caller.
  static void uncount(const Value&);
  /// Counts a block that `uncount` was called for, against this budget. Throws as `allocate` does.
  void count(const Tensor&);
  /// Memory that counts against a budget and is not one block of the pool.
  class Counted {
   public:
    Counted() = default;
    Counted(const Counted&) = delete;
    Counted& operator=(const Counted&) = delete;
    virtual ~Counted() = default;
    /// No longer counts it.
    virtual void uncount() = 0;
    /// Its size in bytes, without text.
    virtual std::size_t bytes() const = 0;
  };
  /// An owner, for tensors at `data`, that destroys the memory with the last of them.
  static std::shared_ptr<void> owner_of(std::unique_ptr<Counted>, void* data);
  /// The memory that such an owner holds; null for any other tensor.
  static Counted* counted_of(const Tensor&);
  /// The size in bytes, without text, of the memory that the tensor keeps alive; 0 if it is not a
  /// `Memory`'s.
  static std::size_t bytes_kept(const Tensor&);
  /// Bytes in use now.
  std::size_t in_use() const;
  /// The size in bytes, without those behind it, of the block that begins at the tensor's address,
  /// if the block comes from a `Memory` and has no other owner, so that it may be overwritten; else
  /// 0. Always 0 for strings.
  static std::size_t bytes_if_alone(const Tensor&);

 private:
  struct Pool;
  explicit Memory(std::shared_ptr<Pool>);
  struct Strings;
  struct BlockOwner;
  struct CountedOwner;
  Tensor allocate_strings(Shape shape, std::size_t bytes);
  std::shared_ptr<Pool> pool_;
};

}  // namespace rondel::runtime
