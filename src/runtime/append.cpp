#include "runtime/append.h"

#include "base/axis.h"
#include "base/error.h"

#include <algorithm>
#include <atomic>
#include <optional>
#include <span>

namespace rondel::runtime {
namespace {

/// A block with room behind the newest value that lies in it. All values in it have the same owner,
/// so that its count tells whether they share the block.
struct GrowingBlock final : Memory::Counted {
  GrowingBlock(Tensor room, std::size_t a, std::int64_t filled)
      : room(std::move(room)), axis(a), used(filled) {}
  void uncount() override { Memory::uncount(room); }
  std::size_t bytes() const override {
    return static_cast<std::size_t>(room.size()) * byte_size(room.dtype());
  }

  const Tensor room;  ///< row-major; its extent along `axis` is the capacity
  const std::size_t axis;
  /// The extent along `axis` that is filled. Threads that hold the same value may append to it at
  /// the same time: the first of them gets the room.
  std::atomic<std::int64_t> used;
};

Tensor part_of(const GrowingBlock& block, std::int64_t from, std::int64_t extent) {
  Shape shape = block.room.shape();
  shape[block.axis] = extent;
  return block.room.strided(from * block.room.strides()[block.axis], std::move(shape),
                            block.room.strides());
}

/// The value from `from` to `end` along the axis of the block.
Tensor value_in(const GrowingBlock& block, std::int64_t from, std::int64_t end,
                std::shared_ptr<void> owner) {
  const Tensor part = part_of(block, from, end - from);
  return {part.dtype(), part.shape(), row_major_strides(part.shape()), part.data(),
          std::move(owner)};
}

/// Where the value begins along the axis of its block, if it ends where the block is filled.
std::optional<std::int64_t> start_of_newest(const GrowingBlock& block, const Tensor& t,
                                            std::size_t axis) {
  const Tensor& room = block.room;
  if (block.axis != axis || t.dtype() != room.dtype() || t.rank() != room.rank() || !t.contiguous())
    return std::nullopt;
  for (std::size_t a = 0; a < t.shape().size(); ++a)
    if (a != axis && t.shape()[a] != room.shape()[a]) return std::nullopt;
  const std::int64_t start = block.used.load(std::memory_order_acquire) - t.shape()[axis];
  const bool there = start >= 0 && part_of(block, start, 0).data() == t.data();
  return there ? std::optional(start) : std::nullopt;
}

/// After so many values in a row that were not continued, none gets room.
constexpr int most_in_vain = 2;

}  // namespace

struct AppendState : StepState {
  std::unique_ptr<StepState> join;
  int in_vain = 0;
  void release() override {
    if (join) join->release();
    in_vain = 0;
  }
};

namespace {

class Append {
 public:
  Append(const AppendStep& step, AppendState& state, Frame& frame)
      : step_(step), state_(state), frame_(frame) {}

  bool run() {
    if (!read_inputs()) return false;
    if (append()) {
      state_.in_vain = 0;
      return true;
    }
    if (state_.in_vain >= most_in_vain) return false;
    ++state_.in_vain;
    return move_to_new_block();
  }

 private:
  const Tensor& first() const { return *tensors_[0]; }

  /// Whether the inputs fit together, and all extents before the axis are 1: the result is then
  /// row-major, though there is room behind it.
  bool read_inputs() {
    for (const Slot s : step_.inputs) {
      tensors_.push_back(frame_.content(s).tensor());
      if (tensors_.back() == nullptr) return false;
    }
    const std::int64_t rank = first().rank();
    if (first().dtype() == DType::string || !has_axis(step_.axis, rank)) return false;
    axis_ = static_cast<std::size_t>(axis_from_front(step_.axis, rank));
    const auto before = std::span(first().shape()).first(axis_);
    if (std::ranges::any_of(before, [](std::int64_t extent) { return extent != 1; })) return false;
    for (std::size_t k = 1; k < tensors_.size(); ++k) {
      const Tensor& t = *tensors_[k];
      if (t.dtype() != first().dtype() || t.rank() != rank) return false;
      for (std::size_t a = 0; a < t.shape().size(); ++a)
        if (a != axis_ && t.shape()[a] != first().shape()[a]) return false;
      if (__builtin_add_overflow(added_, t.shape()[axis_], &added_)) return false;
    }
    return true;
  }

  /// In the room behind the first input.
  bool append() {
    auto* const block = dynamic_cast<GrowingBlock*>(Memory::counted_of(first()));
    if (block == nullptr) return false;
    const auto start = start_of_newest(*block, first(), axis_);
    if (!start) return false;
    std::int64_t filled = *start + first().shape()[axis_];
    if (block->room.shape()[axis_] - filled < added_) return false;
    if (!block->used.compare_exchange_strong(filled, filled + added_, std::memory_order_acq_rel))
      return false;
    write(*block, *start, filled, first().owner());
    return true;
  }

  /// To a block with as much room again as half of the value.
  bool move_to_new_block() {
    Shape shape = first().shape();
    std::int64_t& capacity = shape[axis_];
    if (__builtin_add_overflow(capacity, added_, &capacity)) return false;
    const std::int64_t room = std::max(capacity / 2, 8 * std::min(added_, capacity / 8));
    if (__builtin_add_overflow(capacity, room, &capacity)) return false;
    const std::int64_t old = first().shape()[axis_];
    std::unique_ptr<GrowingBlock> made;
    try {
      made = std::make_unique<GrowingBlock>(
          frame_.run().memory.allocate(first().dtype(), std::move(shape)), axis_, old + added_);
    } catch (const Error& e) {
      if (e.blame() != Blame::limit) throw;
      return false;  // a block without room may fit
    }
    const GrowingBlock& block = *made;
    frame_.run().assign(first(), part_of(block, 0, old));
    write(block, 0, old, Memory::owner_of(std::move(made), block.room.data()));
    return true;
  }

  /// Writes the inputs but the first from `at` on, and sets the output.
  void write(const GrowingBlock& block, std::int64_t start, std::int64_t at,
             std::shared_ptr<void> owner) {
    for (std::size_t k = 1; k < tensors_.size(); ++k) {
      const std::int64_t extent = tensors_[k]->shape()[axis_];
      frame_.run().assign(*tensors_[k], part_of(block, at, extent));
      at += extent;
    }
    frame_.set(step_.outputs[0], value_in(block, start, at, std::move(owner)));
  }

  const AppendStep& step_;
  AppendState& state_;
  Frame& frame_;
  std::vector<const Tensor*> tensors_;
  std::size_t axis_ = 0;
  std::int64_t added_ = 0;  ///< the extent of all inputs but the first
};

}  // namespace

std::unique_ptr<StepState> AppendStep::make_state() const {
  auto state = std::make_unique<AppendState>();
  state->join = join->make_state();
  return state;
}

void AppendStep::run(Frame& frame, StepState* remembered) const {
  auto& state = static_cast<AppendState&>(*remembered);
  if (!Append(*this, state, frame).run()) join->run(frame, state.join.get());
}

}  // namespace rondel::runtime
