#include "runtime/plan.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"

#include <algorithm>

namespace rondel::runtime {
namespace {

bool is_row_major(const Tensor& t, DType dtype, const Shape& shape) {
  return t.dtype() == dtype && t.shape() == shape && t.contiguous();
}

/// Whether a block of `block` bytes can hold `bytes` and is not much too large for that. `block` is
/// 0 for memory that must not be overwritten.
bool may_be_renewed(std::size_t block, std::int64_t bytes) {
  const auto needed = static_cast<std::size_t>(bytes);
  return block != 0 && block >= needed && (block <= 256 || block / 4 <= needed);
}

/// The same for the block of a tensor, and a tensor of this type.
bool may_be_renewed(const Tensor& t, DType dtype, const Shape& shape) {
  if (dtype == DType::string) return false;
  return may_be_renewed(Memory::bytes_if_alone(t),
                        element_count(shape) * static_cast<std::int64_t>(byte_size(dtype)));
}

}  // namespace

void Run::assign(const Tensor& from, const Tensor& to) const {
  assign_in_parts(from, to, [this] { check_stop(); });
}

Tensor Run::zeros(DType dtype, Shape shape) const {
  Tensor t = memory.allocate(dtype, std::move(shape));
  if (dtype != DType::string) clear(t);
  return t;
}

void Run::clear(const Tensor& t) const {
  clear_in_parts(t, [this] { check_stop(); });
}

const Tensor& Run::renew(Value& v, DType dtype, const Shape& shape) const {
  if (const auto* t = std::get_if<Tensor>(&v); t != nullptr && may_be_renewed(*t, dtype, shape)) {
    if (!is_row_major(*t, dtype, shape))
      v = Tensor(dtype, shape, row_major_strides(shape), t->data(), t->owner());
    return std::get<Tensor>(v);
  }
  v = Value();
  v = memory.allocate(dtype, shape);
  return std::get<Tensor>(v);
}

Error Run::out_of_trips() {
  trips_are_used_up = true;
  return {Blame::limit, fmt::format("the budget of {} trips is used up; raise the {}'s max_trips",
                                    max_trips, own_trips ? "run" : "session")};
}

void Run::end() const {
  if (static_cast<Stop>(stop.load()) == Stop::cancelled)
    throw_error(Blame::cancelled, "the run was ended by its terminate flag");
  if (static_cast<Stop>(stop.load()) == Stop::interrupted)
    throw_error(Blame::cancelled, "the run was ended by its `interrupted` function");
  throw_error(Blame::deadline, "the run's deadline has passed");
}

Frame::Frame(const Plan& plan, bool entered_again) : plan_(plan), entered_again_(entered_again) {
  for (std::size_t s = 0; s < plan.slot_count; ++s) {
    owned_.push_back(std::make_unique<Content>());
    slots_.push_back(owned_.back().get());
  }
  std::vector<bool> constant(plan.slot_count);
  for (const auto& [slot, tensor] : plan.constants) {
    set(slot, tensor);
    constant[static_cast<std::size_t>(slot)] = true;
  }
  for (std::size_t s = 0; s < plan.slot_count; ++s)
    if (!constant[s]) variable_.push_back(static_cast<Slot>(s));
  for (const auto& step : plan.steps) states_.push_back(step->make_state());
}

/// Assigns arena offsets for the extents of this run.
void Frame::assign_arena_offsets() {
  constexpr std::size_t most = 4;
  extents_.clear();
  for (const Layout::Symbol& symbol : plan_.layout.symbols)
    extents_.push_back((*this)[symbol.slot].tensor().shape()[symbol.axis]);
  const auto known = std::ranges::find_if(cached_offsets_,
                                          [&](const auto& l) { return l->extents == extents_; });
  if (known == cached_offsets_.begin() && !cached_offsets_.empty()) return;
  if (known != cached_offsets_.end()) {
    std::rotate(cached_offsets_.begin(), known, known + 1);
  } else {
    if (cached_offsets_.size() == most) cached_offsets_.pop_back();
    ArenaOffsets offsets = assign_offsets(plan_.layout, extents_, plan_.slot_count,
                                          run_->memory.bytes_behind());
    if (run_->memory.checked()) verify_offsets(plan_.layout, extents_, offsets);
    cached_offsets_.insert(cached_offsets_.begin(),
                           std::make_unique<CachedOffsets>(extents_, std::move(offsets)));
  }
  if (arena_.defined() && arena_.size() < cached_offsets_.front()->offsets.total) release_arena();
  for (const Layout::Piece& piece : plan_.layout.pieces) own(piece.slot).leave_arena();
}

void Frame::release_arena() {
  for (const Layout::Piece& piece : plan_.layout.pieces) own(piece.slot).clear();
  arena_ = Tensor();
}

const Tensor& Frame::make_output(Slot slot, const OutputForm& type) {
  const ArenaOffsets& offsets = cached_offsets_.front()->offsets;
  const ArenaOffsets::Range range = offsets.by_slot[static_cast<std::size_t>(slot)];
  Content& c = content(slot);
  if (range.offset < 0 || type.bytes > range.bytes) {
    renew(c, type);
    return *c.tensor();
  }
  if (!arena_.defined()) arena_ = run_->memory.allocate(DType::u8, {offsets.total});
  char* const address = arena_.data_as<char>() + range.offset;
  c.set_in_arena(Tensor(type.dtype, type.shape, type.strides, address, arena_.owner()), type.form);
  return *c.tensor();
}

/// Makes the content a tensor of this type in a block without other owners: the content's block, a
/// spare block, or a new one.
void Frame::renew(Content& c, const OutputForm& type) {
  const auto fits = [&](std::size_t block) {
    return type.dtype != DType::string && may_be_renewed(block, type.bytes);
  };
  if (const std::size_t block = c.bytes_if_alone(); !fits(block)) {
    const auto it = std::ranges::find_if(
        spare_, [&](const Tensor& s) { return fits(Memory::bytes_if_alone(s)); });
    if (it == spare_.end()) {
      c.clear();
      return c.set(run_->memory.allocate(type.dtype, type.shape), type.form);
    }
    c.set(std::move(*it));
    spare_.erase(it);
  }
  c.reform(type);
}

void Frame::save_spare_block(Slot s) {
  constexpr std::size_t most = 8;
  Content& c = content(s);
  if (!entered_again_ || spare_.size() == most) return;
  const std::size_t bytes = c.bytes_if_alone();
  if (bytes == 0 || bytes > most_kept_bytes) return;
  spare_.push_back(*c.tensor());
  c.clear();
}

void Frame::drop(Slot s) {
  Content& c = own(s);
  if (entered_again_) {
    if (c.in_arena()) return;
    const std::size_t bytes = c.bytes_if_alone();
    if (bytes != 0 && bytes <= most_kept_bytes) return;
  }
  c.clear();
}

void Frame::release_sequences(const Step& step) {
  for (const Slot dead : step.release)
    if (!(*this)[dead].is_tensor()) own(dead).clear();
}

void Frame::borrow(Slot ours, Frame& from, Slot theirs) {
  Content& lent = from.content(theirs);
  const bool stays = lent.tensor() != nullptr;
  slots_[static_cast<std::size_t>(ours)] = stays ? &lent : &own(ours);
  if (!stays) own(ours).share(lent);
}

void Frame::reset_for_reentry() {
  for (const Slot s : variable_) drop(s);
  if (arena_.defined() && static_cast<std::size_t>(arena_.size()) > most_kept_bytes)
    release_arena();
}

void Frame::clear() {
  for (const Slot s : variable_) own(s).clear();
  spare_.clear();
  arena_ = Tensor();
  for (const auto& state : states_)
    if (state) state->release();
}

void Frame::execute() {
  begin_steps();
  execute(0, plan_.steps.size());
}

void Frame::execute(std::size_t first, std::size_t end) {
  if (RunTrace* const trace = run_->trace) [[unlikely]] {
    std::int64_t at = RunTrace::now();
    for (std::size_t s = first; s < end; ++s) {
      run_step(s);
      at = trace->add(RunTrace::Kind::step, plan_.steps[s]->source, at);
    }
  } else {
    for (std::size_t s = first; s < end; ++s) run_step(s);
  }
  run_->check_stop();
}

void Frame::run_step(std::size_t s) {
  run_->check_stop();
  const Step& step = *plan_.steps[s];
  try {
    step.run(*this, states_[s].get());
  } catch (const Error& e) {
    // Errors of memory and size arithmetic do not name the step.
    const bool ours = e.blame() == Blame::caller || e.blame() == Blame::limit;
    if (!ours || !e.frames().empty()) throw;
    throw e.within(step.source);
  }
  for (const Slot dead : step.release) drop(dead);
}

std::unique_ptr<Frame> Plan::take_frame(Run& run) const {
  std::unique_ptr<Frame> frame;
  {
    const std::lock_guard lock(pool_->mutex);
    if (!pool_->free.empty()) {
      frame = std::move(pool_->free.back());
      pool_->free.pop_back();
    }
  }
  if (!frame) frame = std::make_unique<Frame>(*this, false);
  frame->begin(run);
  return frame;
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  // Drops what is left of the run, after an error, or results that have been copied.
  frame->clear();
  const std::lock_guard lock(pool_->mutex);
  pool_->free.push_back(std::move(frame));
}

Frame& InnerFrame::enter(const Plan& plan, Frame& outer, bool again) {
  if (!frame_) frame_ = std::make_unique<Frame>(plan, again);
  frame_->begin(outer.run());
  for (const auto& [theirs, ours] : plan.captures) frame_->borrow(ours, outer, theirs);
  return *frame_;
}

void Frame::move_result(std::size_t result, Frame& to, Slot slot) {
  const Slot ours = plan_.results[result];
  if (!plan_.movable[result]) {
    to.content(slot).share(content(ours));
    return;
  }
  exchange(ours, to, slot);
}

void Frame::exchange(Slot ours, Frame& to, Slot theirs) {
  const auto from_at = static_cast<std::size_t>(ours), to_at = static_cast<std::size_t>(theirs);
  owned_[from_at].swap(to.owned_[to_at]);
  slots_[from_at] = owned_[from_at].get();
  to.slots_[to_at] = to.owned_[to_at].get();
  drop(ours);
}

std::vector<Value> values_of(Frame& frame, std::span<const Slot> slots) {
  std::vector<Value> values;
  values.reserve(slots.size());
  for (const Slot s : slots) values.push_back(s < 0 ? Value() : frame[s]);
  return values;
}

namespace {
const Tensor& single(const Value& v, std::string_view what) {
  if (!v.is_tensor() || v.tensor().size() != 1)
    fail("{} is {}; expected one element", what, to_text(v));
  return v.tensor();
}
}  // namespace

std::int64_t read_scalar_i64(const Value& v, std::string_view what) {
  return *single(v, what).data_as<std::int64_t>();
}
bool read_scalar_bool(const Value& v, std::string_view what) {
  return *single(v, what).data_as<std::uint8_t>() != 0;
}

}  // namespace rondel::runtime
