#include "runtime/native_region.h"

#include "base/checked.h"
#include "base/error.h"
#include "runtime/stack.h"

#include <algorithm>
#include <cstring>
#include <tuple>
#include <utility>

namespace rondel::runtime {
namespace {

using Kind = scalar::LoopBinding;

/// The fewest trips of the first chunk; each later chunk is twice as long. Between chunks, growing
/// stacks get more rows, and native code replaces interpreted code as soon as it is compiled.
constexpr std::int64_t first_chunk = 4;
/// The end of the lifetime of a buffer that is alive until the region returns.
constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

/// While states grow, there is room for so many trips at first, unless the trip count is known, but
/// not for more than need so many bytes.
constexpr std::int64_t first_trips = 32;
constexpr double small_growth = 1 << 20;
/// A size of which so many times more is there than is needed does not help.
constexpr std::int64_t most_spare = 64;
/// Twice a larger size does not fit into 64 bits.
constexpr std::int64_t most_doubled = std::numeric_limits<std::int64_t>::max() / 2;

/// The changing extents of a state: the number of the extent, and the axis that has it.
std::vector<std::pair<std::size_t, std::size_t>> changing_axes(
    const std::vector<RegionCode::Binding>& bindings, std::size_t state) {
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (const RegionCode::Binding& b : bindings)
    for (const auto& [s, axis] : b.axes)
      if (s == state) found.emplace_back(b.index, static_cast<std::size_t>(axis));
  return found;
}

Tensor allocate_state(Run& run, const std::string& name, DType dtype, const Shape& shape) {
  try {
    return run.memory.allocate(dtype, shape);
  } catch (const Error& e) {
    throw Error(
        e.blame(),
        fmt::format("state '{}' needs room for {}: {}", name, to_text(dtype, shape), e.message()),
        e.frames());
  }
}

}  // namespace

RegionBuffers::RegionBuffers(std::shared_ptr<const RegionCode> code, Run& run)
    : code_(std::move(code)), threads_(run.threads), checked_(run.memory.checked()),
      behind_(run.memory.bytes_behind()), views_(code_->bindings.size()) {
  for (std::size_t b = 0; b < code_->bindings.size(); ++b) {
    const RegionCode::Binding& binding = code_->bindings[b];
    if (binding.kind == Kind::constant) point_at(b, binding.constant);
    if (binding.kind == Kind::temporary)
      owned_.push_back({.binding = b, .first = binding.first, .last = binding.last});
  }
  if (const std::size_t bytes = code_->code->program().workspace_bytes(); bytes > 0)
    owned_.push_back(
        {.binding = {}, .shape = {static_cast<std::int64_t>(bytes)}, .first = 0, .last = always});
}

std::size_t RegionBuffers::add_owned(std::size_t binding) {
  owned_.push_back({.binding = binding, .first = 0, .last = always});
  return owned_.size() - 1;
}

void RegionBuffers::set_types(const OutputTypes& types) {
  bound_ = false;
  for (Owned& o : owned_)
    if (o.binding) std::tie(o.dtype, o.shape) = types[*o.binding];
  assign_offsets();
}

void RegionBuffers::assign_offsets() {
  layout_.pieces.clear();
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    const Owned& o = owned_[i];
    if (o.dtype == DType::string) continue;  // tensors of strings have blocks of their own
    const std::int64_t bytes = checked_mul(element_count(o.shape),
                                           static_cast<std::int64_t>(byte_size(o.dtype)));
    layout_.pieces.push_back({static_cast<Slot>(i), o.first, o.last, bytes, {}});
  }
  runtime::assign_offsets(layout_, {}, owned_.size(), behind_, offsets_);
  if (checked_) verify_offsets(layout_, {}, offsets_);
}

void RegionBuffers::bind(Run& run) {
  if (bound_) return;
  if (offsets_.total > 0 && (!arena_.defined() || arena_.size() < offsets_.total)) {
    release();  // the old arena and the new one are not held at the same time
    arena_ = run.memory.allocate(DType::u8, {offsets_.total});
  }
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    Owned& o = owned_[i];
    const std::int64_t offset = offsets_.by_slot[i].offset;
    o.tensor = offset < 0 ? run.memory.allocate(o.dtype, o.shape)
                          : Tensor(o.dtype, o.shape, row_major_strides(o.shape),
                                   arena_.data_as<char>() + offset, arena_.owner());
    if (o.binding) point_at(*o.binding, o.tensor);
    else context_.workspace = o.tensor.data();
  }
  bound_ = true;
}

std::optional<scalar::SizeNeeded> RegionBuffers::run(Run& run,
                                                     std::span<const std::int64_t> params) {
  const scalar::Executable& code = *code_->code;
  std::optional<kernels::ThreadScope> threads;
  if (!code.program().calls.empty()) threads.emplace(threads_);
  context_.stop = &run.stop;
  const scalar::Status status = code.run(context_, views_.data(), params.data());
  if (status == scalar::done) return std::nullopt;
  run.check_stop();
  if (const auto needed = scalar::size_needed(code.program(), context_, status)) return needed;
  const Error failed = scalar::failure(code.program(), context_, status);
  if (failed.blame() == Blame::limit)  // code is shared: the run knows whose budget it is
    throw Error(Blame::limit, run.out_of_trips().message(), failed.frames());
  throw failed;
}

void RegionBuffers::drop_large_memory() {
  if (static_cast<std::size_t>(offsets_.total) > most_kept_bytes) release();
}

void RegionBuffers::release() {
  for (Owned& o : owned_) o.tensor = Tensor();
  arena_ = Tensor();
  bound_ = false;
}

// Sizes.

void GivenSizes::begin() {
  found_.assign(exact_.size(), false);
  remembered_ = std::ranges::any_of(sizes_, [](std::int64_t size) { return size > 0; });
}

bool GivenSizes::give(scalar::SizeNeeded needed, bool generous) {
  const std::size_t k = needed.number;
  if (exact_[k] && found_[k]) return false;
  if (!exact_[k] && sizes_[k] / most_spare > needed.size) return false;
  found_[k] = true;
  const bool doubles = !exact_[k] && generous && sizes_[k] <= most_doubled;
  sizes_[k] = doubles ? std::max(needed.size, 2 * sizes_[k]) : needed.size;
  return true;
}

// Loops.

NativeLoop::NativeLoop(std::shared_ptr<const RegionCode> code, const LoopSlots& slots, Run& run)
    : buffers_(std::move(code), run), outer_(slots.outer), sizes_(*buffers_.code()) {
  const auto& bindings = buffers_.code()->bindings;
  extents_.resize(static_cast<std::size_t>(
      std::ranges::count(bindings, Kind::extent, &RegionCode::Binding::kind)));
  first_extents_.resize(extents_.size());
  for (std::size_t b = 0; b < bindings.size(); ++b) {
    const std::size_t i = bindings[b].index;
    switch (bindings[b].kind) {
      case Kind::state:
        states_.push_back({b, slots.states[i], slots.finals[i]});
        states_.back().name = slots.state_names[i];
        for (const auto& [extent, axis] : changing_axes(bindings, i))
          states_.back().changing.emplace_back(axis, extent);
        if (slots.finals[i] < 0 && !sizes_change()) states_.back().own = buffers_.add_owned(b);
        break;
      case Kind::extent: buffers_.point_at(b, &extents_[i]); break;
      case Kind::first_extent: buffers_.point_at(b, &first_extents_[i]); break;
      case Kind::invariant:
        inputs_.push_back({b, slots.states[i]});
        invariants_.push_back({slots.states[i], slots.finals[i]});
        break;
      case Kind::go: buffers_.point_at(b, &go_); break;
      case Kind::stopped: buffers_.point_at(b, &stopped_); break;
      case Kind::capture: inputs_.push_back({b, slots.captures[i]}); break;
      case Kind::scan: inputs_.push_back({b, slots.scans[i]}); break;
      case Kind::stack: stacks_.push_back({b, i}); break;
      case Kind::temporary:
      case Kind::constant: break;
      case Kind::input:
      case Kind::result: invariant(false, "a loop's buffer is bound as one of an `if`");
    }
  }
}

void NativeLoop::set_types(const OutputTypes& types, Frame& frame) {
  for (State& s : states_) {
    s.type = OutputForm(types[s.binding].first, types[s.binding].second);
    s.row_major = frame[s.initial].tensor().contiguous();
  }
  for (ItemStack& s : stacks_) std::tie(s.dtype, s.item) = types[s.binding];
  room_ = 0;
  laid_out_.clear();
  buffers_.set_types(types);
}

void NativeLoop::release() {
  for (ItemStack& s : stacks_) s.rows = Tensor();
  drop_states();
  buffers_.release();
}

void NativeLoop::drop_states() {
  for (State& s : states_) s.block = s.saved = Tensor();
}

void NativeLoop::bind(Frame& frame, const LoopStart& start) {
  Run& run = frame.run();
  for (const Input& in : inputs_) buffers_.point_at(in.binding, frame[in.slot].tensor());
  go_ = start.go ? 1 : 0;
  if (sizes_change()) {
    drop_states();  // of a run that failed
    sizes_.begin();
    read_tensors(frame, outer_, tensors_);
    return;
  }
  buffers_.bind(run);
  for (const State& s : states_) {
    const Tensor& own = s.final < 0 ? buffers_.owned(s.own) : frame.output(s.final, s.type);
    const Tensor& initial = frame[s.initial].tensor();
    if (s.row_major && static_cast<std::size_t>(s.type.bytes) <= most_kept_bytes &&
        s.type.dtype != DType::string)
      std::memcpy(own.data(), initial.data(), static_cast<std::size_t>(s.type.bytes));
    else run.assign(initial, own);
    buffers_.point_at(s.binding, own);
  }
}

// Sizes that change while the loop runs. Each state has a block with room for some trips; extents
// that change are kept beside. Temporaries have room for as many trips, and all have the sizes that
// the program is given. Where one of these does not suffice, the trips that ran last run again.

std::span<const std::int64_t> NativeLoop::room_for(std::int64_t trips) {
  wanted_.assign(1, trips);
  wanted_.insert(wanted_.end(), sizes_.values().begin(), sizes_.values().end());
  return wanted_;
}

/// How many trips to make room for at first: all, if the loop certainly makes them or they need
/// little memory.
std::int64_t NativeLoop::first_room(const LoopStart& start, std::int64_t most) {
  if (start.certain) return most;
  const double least = bytes_for(1).value_or(0);
  const auto is_small = [&](std::int64_t trips) {
    const auto bytes = bytes_for(trips);
    return bytes && *bytes - least <= small_growth;
  };
  if (is_small(most)) return most;
  std::int64_t trips = std::min(first_trips, most);
  while (trips > 1 && !is_small(trips)) trips /= 2;
  return trips;
}

/// The bytes of states and temporaries with room for `trips` trips; nullopt if they are too many.
std::optional<double> NativeLoop::bytes_for(std::int64_t trips) {
  if (!buffers_.code()->types->evaluate_with_room(tensors_, room_for(trips), types_))
    return std::nullopt;
  double all = 0;
  const auto& bindings = buffers_.code()->bindings;
  for (std::size_t b = 0; b < bindings.size(); ++b) {
    if (bindings[b].kind != Kind::state && bindings[b].kind != Kind::temporary) continue;
    double bytes = static_cast<double>(byte_size(types_[b].first));
    for (const std::int64_t extent : types_[b].second) bytes *= static_cast<double>(extent);
    all += bytes;
  }
  return all;
}

/// Gives the states and temporaries room for `trips` trips from the first one on. Before the first
/// trip, the states are the initial values.
void NativeLoop::make_room(Frame& frame, std::int64_t trips) {
  Run& run = frame.run();
  const auto room = room_for(trips);
  if (!buffers_.code()->types->evaluate_with_room(tensors_, room, types_))
    throw Error(Blame::limit, fmt::format("the states of {} trips do not fit into memory", trips));
  if (!std::ranges::equal(room, laid_out_)) {
    laid_out_.clear();
    buffers_.set_types(types_);
  }
  buffers_.bind(run);
  for (ItemStack& s : stacks_) s.item = types_[s.binding].second;
  for (State& s : states_) {
    const auto& [dtype, shape] = types_[s.binding];
    const bool begun = s.block.defined();
    if (!begun || s.block.shape() != shape) {
      const Tensor& initial = frame[s.initial].tensor();
      for (const auto& [axis, number] : s.changing)
        if (!begun) extents_[number] = first_extents_[number] = initial.shape()[axis];
      const Tensor block = allocate_state(run, s.name, dtype, shape);
      run.assign(begun ? part_of(s, s.block) : initial, part_of(s, block));
      s.block = block;
    }
    buffers_.point_at(s.binding, s.block);
  }
  room_ = trips;
  laid_out_.assign(room.begin(), room.end());
}

/// Keeps the states as they are before trips that may have to run again.
void NativeLoop::save_states(Run& run) {
  for (State& s : states_) {
    const Tensor now = part_of(s, s.block);
    if (!s.saved.defined() || s.saved.shape() != now.shape())
      s.saved = allocate_state(run, s.name, now.dtype(), now.shape());
    run.assign(now, s.saved);
  }
}

/// Gives the program a size that it needs, and lays out everything anew, with the states as they
/// were before the trips that ran last, which begin with trip `from`. Returns false if the loop
/// must run step by step.
bool NativeLoop::give_size(Frame& frame, scalar::SizeNeeded needed, std::span<Stack> stacks,
                           std::int64_t from) {
  gave_up_ = sizes_.is_exact(needed.number) ? GaveUp::items : GaveUp::size;
  if (from > 0 && sizes_.is_exact(needed.number)) return false;  // earlier items had the old size
  const std::int64_t before = sizes_.values()[needed.number];
  if (!sizes_.give(needed, true)) return false;
  for (State& s : states_) s.block = std::exchange(s.saved, Tensor());
  for (const ItemStack& s : stacks_)
    if (from == 0) stacks[s.stack].drop_items();
  try {
    make_room(frame, room_);
  } catch (const Error& e) {
    if (e.blame() != Blame::limit || needed.size <= before) throw;
    buffers_.release();
    sizes_.give(needed, false);
    make_room(frame, room_);
  }
  return true;
}

/// Makes room for twice the trips, or, where memory does not suffice, for fewer more.
void NativeLoop::make_more_room(Frame& frame, std::int64_t most) {
  const std::int64_t made = room_;
  for (const std::int64_t more : {made, made / 4, std::int64_t{1}}) {
    if (more == 0) continue;
    try {
      return make_room(frame, more > most - made ? most : made + more);
    } catch (const Error& e) {
      if (e.blame() != Blame::limit || more == 1) throw;
      buffers_.release();  // an arena for so many trips is too large for fewer
    }
  }
}

/// The part of a block that the state takes now.
Tensor NativeLoop::part_of(const State& s, const Tensor& block) const {
  Shape shape = block.shape();
  for (const auto& [axis, number] : s.changing) shape[axis] = extents_[number];
  return block.strided(0, std::move(shape), block.strides());
}

void NativeLoop::hand_on_states(Frame& frame) {
  for (State& s : states_) {
    if (s.final >= 0) frame.set(s.final, part_of(s, s.block));
  }
  drop_states();
}

std::optional<NativeLoop::Outcome> NativeLoop::run(Frame& frame, const LoopStart& start,
                                                   std::span<Stack> stacks) {
  std::optional<std::int64_t> trips;
  if (lay_out([&] { bind(frame, start); })) trips = run_trips(frame, start, stacks);
  else no_memory_.reset();  // the whole arena says nothing of what the steps need
  for (ItemStack& s : stacks_) s.rows = Tensor();
  if (!trips) {
    buffers_.code()->last_run->gave_up.store(gave_up_, std::memory_order_relaxed);
    release();
    return std::nullopt;
  }
  if (sizes_change()) hand_on_states(frame);
  buffers_.drop_large_memory();
  forward_invariants(frame);
  return Outcome{*trips, !start.conditional || go_ != 0};
}

/// Makes room for the items of the trips up to `to`, or, where memory does not suffice for a stack
/// that grows, of fewer; returns up to which.
std::int64_t NativeLoop::prepare_rows(std::span<Stack> stacks, std::int64_t from, std::int64_t to) {
  for (ItemStack& s : stacks_) {
    Stack& stack = stacks[s.stack];
    s.rows = Tensor();
    while (!s.rows.defined()) try {
        s.rows = stack.prepare(s.dtype, s.item, to);
      } catch (const Error& e) {
        if (e.blame() != Blame::limit || stack.certain() || to - from <= 1) throw;
        to = from + std::max<std::int64_t>((to - from) / 4, 1);
      }
    buffers_.point_at(s.binding, s.rows);
  }
  return to;
}

/// The number of trips made; nullopt if the loop must run step by step.
std::optional<std::int64_t> NativeLoop::run_trips(Frame& frame, const LoopStart& start,
                                                  std::span<Stack> stacks) {
  Run& run = frame.run();
  const std::int64_t most = std::min(start.trips.value_or(std::numeric_limits<std::int64_t>::max()),
                                     run.max_trips);
  const bool growing = std::ranges::any_of(
      stacks_, [&](const ItemStack& s) { return !stacks[s.stack].certain(); });
  const scalar::Executable& code = *buffers_.code()->code;
  LastRun& last_run = *buffers_.code()->last_run;
  last_run.begin();
  if (run.trace != nullptr) run.trace->begin_whole();
  const auto begin = [&] { make_room(frame, extents_change() ? first_room(start, most) : 0); };
  if (sizes_change() && !lay_out(begin)) return std::nullopt;
  std::int64_t from = 0, chunk = code.native() ? trips_of_first_chunk(stacks) : first_chunk;
  while (from < most && (!start.conditional || go_ != 0)) {
    run.check_stop();
    if (extents_change() && from == room_ && !lay_out([&] { make_more_room(frame, most); }))
      return std::nullopt;
    if (!sizes_.empty() && from > 0 && !lay_out([&] { save_states(run); })) return std::nullopt;
    const bool whole = code.native() && !growing;
    std::int64_t to = whole || most - from <= chunk ? most : from + chunk;
    if (extents_change()) to = std::min(to, room_);
    try {
      to = prepare_rows(stacks, from, to);
    } catch (const Error& e) {
      if (e.blame() != Blame::limit || !sizes_.were_remembered()) throw;
      give_up_for(e);
      return std::nullopt;
    }
    params_.assign({from, to, start.certain ? *start.trips : 0, run.max_trips});
    params_.insert(params_.end(), sizes_.values().begin(), sizes_.values().end());
    const std::int64_t begun = run.trace == nullptr ? 0 : RunTrace::now();
    const auto needed = buffers_.run(run, params_);
    if (run.trace != nullptr)
      run.trace->add_chunk(begun, needed ? 0 : stopped_ - from,
                           buffers_.were_interpreted() || !code.native());
    bool given = true;
    if (!needed) {
      last_run.count(stopped_ - from, buffers_.were_interpreted());
      from = stopped_;
      chunk = chunk > most / 2 ? most : chunk * 2;
    } else if (!lay_out([&] { given = give_size(frame, *needed, stacks, from); }) || !given) {
      return std::nullopt;
    }
  }
  return from;
}

/// Calls a function that allocates. Returns false if memory does not suffice. Since all that is
/// known of some sizes are bounds, fewer bytes may do step by step.
template <class F> bool NativeLoop::lay_out(const F& allocate) {
  no_memory_.reset();
  try {
    allocate();
  } catch (const Error& e) {
    if (e.blame() != Blame::limit) throw;
    give_up_for(e);
  }
  return !no_memory_;
}

void NativeLoop::give_up_for(const Error& no_memory) {
  no_memory_ = no_memory;
  gave_up_ = GaveUp::memory;
}

bool NativeLoop::forget_sizes() {
  if (!no_memory_ || !sizes_.were_remembered()) return false;
  sizes_.forget();
  return true;
}

/// As many trips as each growing stack has room for at first, but at least `first_chunk`.
std::int64_t NativeLoop::trips_of_first_chunk(std::span<const Stack> stacks) const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const ItemStack& s : stacks_)
    if (!stacks[s.stack].certain()) least = std::min(least, Stack::rows_at_first(s.dtype, s.item));
  return std::max(least, first_chunk);
}

void NativeLoop::forward_invariants(Frame& frame) const {
  for (const Invariant& s : invariants_)
    if (s.final >= 0) frame.content(s.final).share(frame.content(s.initial));
}

// Ifs.

NativeIf::NativeIf(std::shared_ptr<const RegionCode> code, const IfSlots& slots, Run& run)
    : buffers_(std::move(code), run) {
  const auto& bindings = buffers_.code()->bindings;
  for (std::size_t b = 0; b < bindings.size(); ++b) {
    const std::size_t i = bindings[b].index;
    switch (bindings[b].kind) {
      case Kind::input: inputs_.push_back({b, slots.inputs[i]}); break;
      case Kind::capture: inputs_.push_back({b, slots.captures[i]}); break;
      case Kind::result: results_.push_back({b, slots.outputs[i]}); break;
      case Kind::temporary:
      case Kind::constant: break;
      default: invariant(false, "an `if`'s buffer is bound as one of a loop");
    }
  }
}

void NativeIf::set_types(const OutputTypes& types, Frame&) {
  for (Result& out : results_)
    out.type = OutputForm(types[out.binding].first, types[out.binding].second);
  buffers_.set_types(types);
}

bool NativeIf::run(Frame& frame) {
  Run& run = frame.run();
  LastRun& last_run = *buffers_.code()->last_run;
  try {
    buffers_.bind(run);
    for (const Result& out : results_)
      buffers_.point_at(out.binding, frame.fresh_output(out.slot, out.type));
  } catch (const Error& e) {
    if (e.blame() != Blame::limit) throw;
    last_run.gave_up.store(GaveUp::memory, std::memory_order_relaxed);
    release();
    return false;
  }
  for (const Input& in : inputs_) buffers_.point_at(in.binding, frame[in.slot].tensor());
  const std::int64_t params[] = {0, 0, 0, run.max_trips};
  buffers_.run(run, params);
  if (run.trace != nullptr)
    run.trace->note_program(buffers_.were_interpreted() || !code()->code->native());
  last_run.begin();
  last_run.count(1, buffers_.were_interpreted());
  buffers_.drop_large_memory();
  return true;
}

}  // namespace rondel::runtime
