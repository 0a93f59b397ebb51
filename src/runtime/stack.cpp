#include "runtime/stack.h"

#include "base/axis.h"
#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "base/poison.h"
#include "base/release.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <new>

namespace rondel::runtime {
namespace {

/// Address space that a growing stack reserves. Memory is used only for rows that are written.
constexpr std::size_t most_reserved = std::size_t{1} << 38;
/// A finished stack smaller than this is copied, so that a result holds no more memory than it
/// needs.
constexpr std::int64_t least_kept_mapped = std::int64_t{1} << 20;
/// Rows begin in a block of the run's memory of the least size, and move to a larger one up to the
/// most; more rows are appended in reserved address space.
constexpr std::size_t least_block = std::size_t{1} << 10, most_block = std::size_t{64} << 10;
/// So many items of strings take long to release, so that this is done in the background.
constexpr std::size_t many_strings = 1024;
constexpr std::size_t claim_step = std::size_t{64} << 10;

}  // namespace

/// Reserved address space. It counts against the budget as it is used.
struct Stack::Reserved final : Memory::Counted {
  explicit Reserved(const Memory& m) : memory(m) {
    for (size = most_reserved; size >= claim_step; size /= 4) {
      base = ::mmap(nullptr, size, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
      if (base != MAP_FAILED) return;
    }
    throw_error(Blame::limit, "the system cannot reserve address space for a loop's stack");
  }
  static std::shared_ptr<Reserved> make(const Memory& m) {
    auto made = std::make_unique<Reserved>(m);
    Reserved* const space = made.get();
    return {Memory::owner_of(std::move(made), space->base), space};
  }
  void uncount() override {
    if (std::exchange(counted, false)) memory.unclaim(claimed);
  }
  std::size_t bytes() const override { return claimed; }
  ~Reserved() override {
    uncount();
    if (claimed < least_released_later) ::munmap(base, size);
    else
      release_later(base, [n = size, used = claimed](void* p) {
        give_back_pages(p, used);
        ::munmap(p, n);
      });
  }

  void need(std::size_t bytes) {
    if (bytes <= claimed) return;
    if (bytes > size)
      throw_error(Blame::limit, fmt::format("a loop's stack of {} bytes exceeds what can be "
                                            "reserved ({} bytes)",
                                            bytes, size));
    const std::size_t more = std::min(size,
                                      std::max(bytes, claimed + std::max(claim_step, claimed / 4)));
    memory.claim(more - claimed);
    claimed = more;
  }
  /// Gives back all but the first bytes: whoever keeps them must not keep the address space.
  void keep_only(std::size_t bytes) {
    const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    const std::size_t kept = (bytes + page - 1) / page * page;
    if (kept >= size) return;
    ::munmap(static_cast<char*>(base) + kept, size - kept);
    size = kept;
    if (claimed <= kept) return;
    memory.unclaim(claimed - kept);
    claimed = kept;
  }

  Memory memory;
  void* base = nullptr;
  std::size_t size = 0, claimed = 0;
  bool counted = true;
};

Stack::Stack(StackNames names, std::int64_t axis, bool reversed)
    : names_(std::move(names)), axis_(axis), reversed_(reversed) {}

void Stack::begin(Run& run, std::optional<std::int64_t> extent, std::optional<std::int64_t> trips,
                  Value before) {
  run_ = &run;
  extent_ = extent;
  trips_ = trips;
  begun_ = false;
  whole_ = std::move(before);
}

void Stack::release() {
  whole_ = Value();
  block_ = Tensor();
  reserved_ = nullptr;
  release_strings();
}

std::int64_t Stack::extent_for(std::int64_t n) const {
  if (!extent_) return n;
  require(*extent_ >= n, "the length of output '{}' is {}, but the loop made {} trips",
          names_.whole, *extent_, n);
  return *extent_;
}

Shape Stack::whole_shape(std::int64_t extent) const {
  const auto rank = static_cast<std::int64_t>(item_.size()) + 1;
  require(has_axis(axis_, rank), "item '{}': axis {} is out of range for rank {}", names_.item,
          axis_, rank);
  Shape shape = item_;
  shape.insert(shape.begin() + axis_from_front(axis_, rank), extent);
  return shape;
}

void Stack::make_whole(std::int64_t extent, bool zeros) {
  const Tensor& whole = run_->renew(whole_, dtype_, whole_shape(extent));
  if (zeros && dtype_ != DType::string) run_->clear(whole);
  else if (run_->memory.checked())
    poison(dtype_, whole.data(), static_cast<std::size_t>(whole.size()) * byte_size(dtype_));
}

void Stack::begin_items(DType dtype, const Shape& item) {
  begun_ = true;
  dtype_ = dtype;
  item_ = item;
  row_bytes_ = checked_mul(element_count(item), static_cast<std::int64_t>(byte_size(dtype)));
  if (trips_) {
    const std::int64_t extent = extent_for(*trips_);
    make_whole(extent, extent > *trips_);
  } else if (dtype != DType::string) {
    whole_shape(0);
    if (room() == 0) grow(1);
    else poison_rows(0);
  }
  const bool leading = axis_ == 0 || axis_ == -std::ssize(item) - 1;
  const bool small = dtype != DType::string &&
                     static_cast<std::size_t>(row_bytes_) <= copied_at_once;
  rows_ = nullptr;
  if (small && !trips_) rows_ = base();
  if (small && trips_ && leading) rows_ = whole_.tensor().data_as<char>();
}

Stack::~Stack() { release_strings(); }

void Stack::release_strings() {
  auto* items = strings_.size() < many_strings ? nullptr
                                               : new (std::nothrow)
                                                     std::vector<Tensor>(std::move(strings_));
  if (items != nullptr) release_later(items, [](std::vector<Tensor>* all) { delete all; });
  strings_.clear();
}

Tensor Stack::destination(const Tensor& whole, std::int64_t t, std::int64_t n) const {
  const std::int64_t rank = whole.rank();
  return whole.at(axis_from_front(axis_, rank), reversed_ ? n - 1 - t : t);
}

void Stack::write(const Tensor& to, const Tensor& item) const {
  run_->assign(item, to);
  run_->memory.count_written_text(to);
}

void Stack::put(std::int64_t t, const Tensor& item) {
  if (!begun_) begin_items(item.dtype(), item.shape());
  if (item.dtype() != dtype_ || item.shape() != item_)
    fail("item '{}': trip {} gives {}, earlier trips gave {}; every trip must give the same type",
         names_.item, t, to_text(item.dtype(), item.shape()), to_text(dtype_, item_));
  if (!trips_ && dtype_ == DType::string) {
    strings_.push_back(run_->memory.allocate(dtype_, item_));
    return write(strings_.back(), item);
  }
  if (!trips_) reserve_rows(t + 1);
  const std::int64_t row = trips_ && reversed_ ? *trips_ - 1 - t : t;
  if (rows_ != nullptr && item.contiguous())
    std::memcpy(rows_ + row * row_bytes_, item.data(), static_cast<std::size_t>(row_bytes_));
  else if (trips_) write(destination(whole_.tensor(), t, *trips_), item);
  else
    run_->assign(
        item, Tensor(dtype_, item_, row_major_strides(item_), base() + row * row_bytes_, nullptr));
}

void Stack::reserve_rows(std::int64_t rows) {
  std::int64_t bytes = 0;
  if (__builtin_mul_overflow(rows, row_bytes_, &bytes))
    throw_error(Blame::limit,
                fmt::format("item '{}': {} of {} bytes are more than any memory holds", names_.item,
                            rows, row_bytes_));
  if (static_cast<std::size_t>(bytes) > room()) grow(static_cast<std::size_t>(bytes));
}

char* Stack::base() const {
  return reserved_ ? static_cast<char*>(reserved_->base) : block_.data_as<char>();
}

std::size_t Stack::room() const {
  if (reserved_) return reserved_->claimed;
  return block_.defined() ? static_cast<std::size_t>(block_.size()) : 0;
}

/// Makes room for so many bytes of rows. Where memory does not suffice, the rows stay as they are.
void Stack::grow(std::size_t bytes) {
  const std::size_t before = room();
  if (reserved_) {
    reserved_->need(bytes);
  } else {
    const Tensor old = block_;
    if (bytes <= most_block) {
      const std::size_t size = std::clamp(2 * bytes, least_block, most_block);
      block_ = run_->memory.allocate(DType::u8, {static_cast<std::int64_t>(size)});
    } else {
      auto reserved = Reserved::make(run_->memory);
      reserved->need(bytes);
      reserved_ = std::move(reserved);
      block_ = Tensor();
    }
    if (before > 0) std::memcpy(base(), old.data(), before);
  }
  if (rows_ != nullptr) rows_ = base();
  poison_rows(before);
}

/// Check mode: poisons the room from byte `from` on.
void Stack::poison_rows(std::size_t from) const {
  if (run_->memory.checked() && from < room()) poison(dtype_, base() + from, room() - from);
}

/// The first n rows.
Tensor Stack::rows(std::int64_t n) const {
  Shape shape = item_;
  shape.insert(shape.begin(), n);
  Shape strides = row_major_strides(shape);
  return Tensor(dtype_, std::move(shape), std::move(strides), base(),
                reserved_ ? std::shared_ptr<void>(reserved_) : block_.owner());
}

Tensor Stack::prepare(DType dtype, const Shape& item, std::int64_t to) {
  if (!begun_) begin_items(dtype, item);
  if (trips_) return whole_.tensor();
  reserve_rows(to);
  return rows(to);
}

std::int64_t Stack::rows_at_first(DType dtype, const Shape& item) {
  const std::int64_t bytes = element_count(item) * static_cast<std::int64_t>(byte_size(dtype));
  return static_cast<std::int64_t>(least_block) / std::max<std::int64_t>(bytes, 1);
}

Value Stack::finish(std::int64_t n) {
  if (trips_) return std::exchange(whole_, {});
  const std::int64_t extent = extent_for(n);
  const bool in_order = extent == n && !reversed_ && axis_ == 0 &&
                        n * row_bytes_ >= least_kept_mapped;
  if (dtype_ != DType::string && in_order) {
    Tensor whole = rows(n);
    if (reserved_) reserved_->keep_only(static_cast<std::size_t>(n * row_bytes_));
    reserved_ = nullptr;
    return whole;
  }
  make_whole(extent, extent > n);
  const Tensor& whole = whole_.tensor();
  if (dtype_ != DType::string && n > 0) put_rows(whole, n);
  for (std::int64_t t = 0; t < n && dtype_ == DType::string; ++t) {
    run_->check_stop();
    write(destination(whole, t, n), strings_[static_cast<std::size_t>(t)]);
  }
  release_strings();
  reserved_ = nullptr;
  return std::exchange(whole_, {});
}

void Stack::put_rows(const Tensor& whole, std::int64_t n) const {
  Shape shape = item_, to = whole.strides();
  shape.insert(shape.begin(), n);
  const auto axis = to.begin() + axis_from_front(axis_, whole.rank());
  const std::int64_t step = *axis;
  to.erase(axis);
  to.insert(to.begin(), reversed_ ? -step : step);
  run_->assign(rows(n), whole.strided(reversed_ ? (n - 1) * step : 0, shape, std::move(to)));
}

}  // namespace rondel::runtime
