#include "runtime/memory.h"

#include "base/block.h"
#include "base/cancellation.h"
#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/poison.h"
#include "base/release.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <mutex>
#include <vector>

namespace rondel::runtime {
namespace {

constexpr std::size_t smallest = 64;
/// The most bytes that the pool keeps for later runs.
constexpr std::size_t most_kept = std::size_t{256} << 20;
/// So many strings take long to release, so that this is done in the background.
constexpr std::size_t many_strings = std::size_t{1} << 14;
constexpr std::size_t class_count = std::size_t{4} * 48;

/// Sizes are rounded up to size classes, four per power of two. A block is thus at most a quarter
/// larger than requested.
std::size_t size_class(std::size_t bytes) {
  if (bytes <= smallest) return 0;
  const auto power = static_cast<std::size_t>(std::bit_width(bytes - 1)) - 1;  // 2^power < bytes
  const std::size_t quarter = (bytes - 1 - (std::size_t{1} << power)) >> (power - 2);
  return (power - 6) * 4 + quarter + 1;
}
std::size_t class_bytes(std::size_t c) {
  if (c == 0) return smallest;
  const std::size_t power = (c - 1) / 4 + 6, quarter = (c - 1) % 4 + 1;
  return (std::size_t{1} << power) + (quarter << (power - 2));
}

/// Blocks that were given back, by size class. A fork waits until none is being moved.
struct FreeBlocks {
  ~FreeBlocks() {
    for (std::size_t c = 0; c < blocks.size(); ++c)
      for (void* block : blocks[c]) give_back_block(block, class_bytes(c));
  }
  /// A block of a size class; null if there is none.
  void* take(std::size_t c) {
    const std::lock_guard lock(mutex);
    if (blocks[c].empty()) return nullptr;
    void* block = blocks[c].back();
    blocks[c].pop_back();
    kept -= class_bytes(c);
    return block;
  }
  /// Whether the block is kept: not if the pool has enough.
  bool keep(void* block, std::size_t c) {
    const std::lock_guard lock(mutex);
    if (kept + class_bytes(c) > most_kept) return false;
    blocks[c].push_back(block);
    kept += class_bytes(c);
    return true;
  }

  ForkMutex mutex{ForkOrder::inner};
  std::vector<std::vector<void*>> blocks{class_count};
  std::size_t kept = 0;
};

}  // namespace

struct Memory::Pool {
  Pool(std::size_t b, bool c) : budget(b), checked(c), free(std::make_unique<FreeBlocks>()) {}
  Pool(std::size_t b, std::shared_ptr<Pool> p)
      : budget(b), checked(p->checked), parent(std::move(p)) {}

  void claim(std::size_t bytes) {
    std::size_t now = used.load(std::memory_order_relaxed);
    do {
      if (bytes > budget || now > budget - bytes)
        throw_error(Blame::limit,
                    fmt::format("the memory budget of {} bytes does not allow {} more: {} are in "
                                "use; raise the {}'s max_memory_bytes or make the inputs smaller",
                                budget, bytes, now, parent ? "run" : "session"));
    } while (!used.compare_exchange_weak(now, now + bytes, std::memory_order_relaxed));
    if (!parent) return;
    try {
      parent->claim(bytes);
    } catch (...) {
      used.fetch_sub(bytes, std::memory_order_relaxed);
      throw;
    }
  }
  std::size_t bytes_behind() const { return checked ? 64 : 0; }
  void unclaim(std::size_t bytes) {
    used.fetch_sub(bytes, std::memory_order_relaxed);
    if (parent) parent->unclaim(bytes);
  }

  void* take(std::size_t c) {
    if (parent) return parent->take(c);
    void* block = free->take(c);
    return block != nullptr ? block : take_block(class_bytes(c));
  }

  void keep(void* block, std::size_t c) {
    if (parent) return parent->keep(block, c);
    if (!free->keep(block, c)) give_back_block(block, class_bytes(c));
  }

  const std::size_t budget;
  const bool checked;
  const std::shared_ptr<Pool> parent;  ///< claims and blocks are its, too
  std::atomic<std::size_t> used{0};
  const std::unique_ptr<FreeBlocks> free;  ///< null if the parent has them
};

namespace {

/// Bytes that a string has allocated outside its own object.
std::size_t text_bytes(const std::string& s) {
  static const std::size_t inside = std::string().capacity();
  return s.capacity() > inside ? s.capacity() + 1 : 0;
}

/// The same for all elements of a tensor, over the axes from `a` on.
std::size_t text_bytes(const Tensor& t, const std::string* at, std::size_t a = 0) {
  if (a == t.shape().size()) return text_bytes(*at);
  std::size_t bytes = 0;
  for (std::int64_t i = 0; i < t.shape()[a]; ++i)
    bytes += text_bytes(t, at + i * t.strides()[a], a + 1);
  return bytes;
}
std::size_t text_bytes(const Tensor& t) {
  std::size_t bytes = 0;
  in_parts(t, t, [&](const Tensor& part, const Tensor&) {
    check_cancellation();
    bytes += text_bytes(part, part.data_as<std::string>());
  });
  return bytes;
}

/// The size of a block in bytes. An overflow of the size is a limit error, whoever caused it.
std::size_t bytes_of(DType dtype, const Shape& shape) {
  require(std::ranges::none_of(shape, [](std::int64_t extent) { return extent < 0; }),
          "{} has a negative extent", to_text(dtype, shape));
  try {
    return static_cast<std::size_t>(
        checked_mul(element_count(shape), static_cast<std::int64_t>(byte_size(dtype)), "bytes"));
  } catch (const Error& e) {
    throw_error(Blame::limit, fmt::format("{} is more than any memory holds ({})",
                                          to_text(dtype, shape), e.what()));
  }
}

}  // namespace

/// A block of strings. It and its text count against the budget.
struct Memory::Strings final : Counted {
  Strings(std::shared_ptr<Pool> p, std::size_t n, std::size_t bytes)
      : pool(std::move(p)), count(n) {
    claim(bytes);
    try {
      make();
    } catch (...) {
      give_back();
      throw;
    }
  }
  ~Strings() override { give_back(); }

  void claim(std::size_t bytes) {
    pool->claim(bytes);
    claimed += bytes;
  }
  void uncount() override { pool->unclaim(std::exchange(claimed, 0)); }
  std::size_t bytes() const override { return count * sizeof(std::string); }
  /// The block of a tensor of strings; null if it is not a `Memory`'s.
  static Strings* of(const Tensor& t) { return dynamic_cast<Strings*>(counted_of(t)); }

  std::shared_ptr<Pool> pool;
  std::size_t claimed = 0;
  std::atomic<bool> counted{false};  ///< `claimed` includes the text
  std::string* strings = nullptr;
  std::size_t count, made = 0;

 private:
  void make() {
    if (count >= many_strings) wait_for_releases();
    strings = static_cast<std::string*>(take_block(count * sizeof(std::string)));
    if (strings == nullptr)
      throw_error(Blame::limit, fmt::format("the system has no memory for {} strings", count));
    while (made < count) {
      check_cancellation();
      const std::size_t more = std::min(count - made, many_strings);
      std::uninitialized_default_construct_n(strings + made, more);
      made += more;
    }
  }
  void give_back() {
    uncount();
    const auto release = [n = made, bytes = count * sizeof(std::string)](std::string* s) {
      std::destroy_n(s, n);
      give_back_block(s, bytes);
    };
    if (made < many_strings) release(strings);
    else release_later(strings, release);
  }
};

/// The deleter of all memory that is not a block of the pool.
struct Memory::CountedOwner {
  Counted* memory;
  void operator()(void*) const { delete memory; }
};

/// The deleter of a block. It gives the block back to its pool, and `bytes_if_alone` recognises
/// blocks of a pool by it.
struct Memory::BlockOwner {
  std::shared_ptr<Pool> pool;
  std::size_t size_class;
  bool counted = true;
  void uncount() {
    if (std::exchange(counted, false)) pool->unclaim(class_bytes(size_class));
  }
  void count(const std::shared_ptr<Pool>& against) {
    if (counted) return;
    against->claim(class_bytes(size_class));
    pool = against;
    counted = true;
  }
  void operator()(void* block) {
    uncount();
    pool->keep(block, size_class);
  }
};

Memory::Memory(std::size_t budget, bool checked) : pool_(std::make_shared<Pool>(budget, checked)) {}

Memory::Memory(std::shared_ptr<Pool> pool) : pool_(std::move(pool)) {}

Memory Memory::within(std::size_t budget) const {
  return Memory(std::make_shared<Pool>(budget, pool_));
}

bool Memory::checked() const { return pool_->checked; }
std::size_t Memory::bytes_behind() const { return pool_->bytes_behind(); }

Tensor Memory::allocate_strings(Shape shape, std::size_t bytes) {
  const auto count = static_cast<std::size_t>(std::max<std::int64_t>(element_count(shape), 1));
  auto block = std::make_unique<Strings>(pool_, count, bytes);
  std::string* data = block->strings;
  Shape strides = row_major_strides(shape);
  return Tensor(DType::string, std::move(shape), std::move(strides), data,
                owner_of(std::move(block), data));
}

void Memory::count_text(const Value& v) {
  if (v.is_sequence())
    for (const Tensor& item : *v.sequence().items) count_text(item);
  if (v.is_optional() && v.optional().held) count_text(*v.optional().held);
  if (!v.is_tensor() || v.tensor().dtype() != DType::string) return;
  const Strings* block = Strings::of(v.tensor());
  if (block != nullptr && !block->counted) count_written_text(v.tensor());
}

void Memory::count_written_text(const Tensor& t) {
  if (t.dtype() != DType::string) return;
  Strings* const block = Strings::of(t);
  if (block == nullptr) return;
  block->claim(text_bytes(t));
  block->counted = true;
}

Tensor Memory::allocate(DType dtype, Shape shape) {
  const std::size_t bytes = bytes_of(dtype, shape);
  if (dtype == DType::string) return allocate_strings(std::move(shape), bytes);
  const std::size_t c = size_class(bytes + bytes_behind());
  if (c >= class_count)
    throw_error(Blame::limit, fmt::format("{} bytes are more than any memory holds", bytes));
  pool_->claim(class_bytes(c));
  void* block = nullptr;
  try {
    block = pool_->take(c);
  } catch (...) {  // the run is being cancelled
    pool_->unclaim(class_bytes(c));
    throw;
  }
  if (block == nullptr) {
    pool_->unclaim(class_bytes(c));
    throw_error(Blame::limit, fmt::format("the system cannot allocate {} bytes", bytes));
  }
  std::shared_ptr<void> owner(block, BlockOwner{pool_, c});
  if (pool_->checked) poison(dtype, block, bytes);
  Shape strides = row_major_strides(shape);
  return Tensor(dtype, std::move(shape), std::move(strides), block, std::move(owner));
}

std::shared_ptr<void> Memory::owner_of(std::unique_ptr<Counted> memory, void* data) {
  return {data, CountedOwner{memory.release()}};
}

Memory::Counted* Memory::counted_of(const Tensor& t) {
  const auto* owner = std::get_deleter<CountedOwner>(t.owner());
  return owner == nullptr ? nullptr : owner->memory;
}

void Memory::uncount(const Value& v) {
  if (v.is_optional() && v.optional().held) return uncount(*v.optional().held);
  if (!v.is_tensor()) return;  // items of sequences and maps are copies
  if (auto* block = std::get_deleter<BlockOwner>(v.tensor().owner())) block->uncount();
  else if (Counted* const memory = counted_of(v.tensor())) memory->uncount();
}

void Memory::count(const Tensor& t) {
  if (auto* block = std::get_deleter<BlockOwner>(t.owner())) block->count(pool_);
}

std::size_t Memory::bytes_kept(const Tensor& t) {
  if (const auto* block = std::get_deleter<BlockOwner>(t.owner()))
    return class_bytes(block->size_class);
  const Counted* const memory = counted_of(t);
  return memory == nullptr ? 0 : memory->bytes();
}

void Memory::claim(std::size_t bytes) { pool_->claim(bytes); }
void Memory::unclaim(std::size_t bytes) { pool_->unclaim(bytes); }
std::size_t Memory::in_use() const { return pool_->used.load(std::memory_order_relaxed); }

std::size_t Memory::bytes_if_alone(const Tensor& t) {
  if (t.owner().use_count() != 1 || t.owner().get() != t.data()) return 0;
  const auto* owner = std::get_deleter<BlockOwner>(t.owner());
  // A former owner may have read the block on another thread.
  std::atomic_thread_fence(std::memory_order_acquire);
  return owner == nullptr ? 0 : class_bytes(owner->size_class) - owner->pool->bytes_behind();
}

}  // namespace rondel::runtime
