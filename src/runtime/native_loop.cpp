#include "runtime/native_loop.h"

#include "base/checked.h"
#include "base/error.h"
#include "kernels/threads.h"
#include "runtime/stack.h"

#include <algorithm>

namespace rondel::runtime {
namespace {

using Kind = scalar::LoopBinding;

/// Trips of the first chunk; each later one is twice as long. Between chunks stacks grow and better
/// code, once it is there, takes over.
constexpr std::int64_t first_chunk = 4;
/// The end of what is alive for the length of an entry.
constexpr std::size_t always = std::numeric_limits<std::size_t>::max();

}  // namespace

NativeLoop::NativeLoop(std::shared_ptr<const LoopCode> code, const LoopSlots& slots, Frame& frame)
    : code_(std::move(code)), threads_(frame.run().threads), views_(code_->bindings.size()) {
  const scalar::Program& program = code_->code->program();
  for (std::size_t b = 0; b < code_->bindings.size(); ++b) {
    const LoopCode::Binding& binding = code_->bindings[b];
    const std::size_t i = binding.index;
    switch (binding.kind) {
      case Kind::state:
        states_.push_back({b, slots.states[i], slots.finals[i], owned_.size()});
        if (slots.finals[i] < 0) {
          const Tensor& initial = frame[slots.states[i]].tensor();
          own(b, initial.dtype(), initial.shape(), 0, always);
        }
        break;
      case Kind::go: views_[b] = {&go_, nullptr, nullptr}; break;
      case Kind::stopped: views_[b] = {&stopped_, nullptr, nullptr}; break;
      case Kind::capture: inputs_.push_back({b, slots.captures[i]}); break;
      case Kind::scan: inputs_.push_back({b, slots.scans[i]}); break;
      case Kind::stack: stacks_.push_back({b, i, {}}); break;
      case Kind::temporary:
        own(b, binding.dtype, binding.shape, binding.first, binding.last);
        break;
      case Kind::constant: see(b, binding.constant); break;
      case Kind::input:
      case Kind::result: invariant(false, "a loop's buffer is bound as one of an `if`");
    }
  }
  if (const std::size_t bytes = program.workspace_bytes(); bytes > 0)
    own({}, DType::u8, {static_cast<std::int64_t>(bytes)}, 0, always);
  Layout layout;
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    const Owned& o = owned_[i];
    if (o.dtype == DType::string) continue;  // those are made one by one
    const std::int64_t bytes = checked_mul(element_count(o.shape),
                                           static_cast<std::int64_t>(byte_size(o.dtype)));
    layout.pieces.push_back({static_cast<Slot>(i), o.first, o.last, bytes, {}});
  }
  places_ = place(layout, {}, owned_.size());
}

void NativeLoop::own(std::optional<std::size_t> binding, DType dtype, Shape shape,
                     std::size_t first, std::size_t last) {
  owned_.push_back({binding, dtype, std::move(shape), first, last});
}

void NativeLoop::bind_owned(Run& run) {
  if (places_.total > 0) arena_ = run.memory.allocate(DType::u8, {places_.total});
  for (std::size_t i = 0; i < owned_.size(); ++i) {
    Owned& o = owned_[i];
    const std::int64_t offset = places_.by_slot[i].offset;
    o.tensor = offset < 0 ? run.memory.allocate(o.dtype, o.shape)
                          : Tensor(o.dtype, o.shape, row_major_strides(o.shape),
                                   arena_.data_as<char>() + offset, arena_.owner());
    if (o.binding) see(*o.binding, o.tensor);
    else workspace_ = o.tensor.data();
  }
  bound_ = true;
}

void NativeLoop::release() {
  for (Owned& o : owned_) o.tensor = Tensor();
  for (ItemStack& s : stacks_) s.rows = Tensor();
  arena_ = Tensor();
  bound_ = false;
}

void NativeLoop::bind(Frame& frame, const LoopStart& start) {
  Run& run = frame.run();
  if (!bound_) bind_owned(run);
  for (const Input& in : inputs_) see(in.binding, frame[in.slot].tensor());
  for (const State& s : states_) {
    const Tensor& initial = frame[s.initial].tensor();
    const Tensor& own = s.final < 0 ? owned_[s.own].tensor
                                    : frame.output(s.final, initial.dtype(), initial.shape());
    run.assign(initial, own);
    see(s.binding, own);
  }
  go_ = start.go ? 1 : 0;
}

NativeLoop::Outcome NativeLoop::run(Frame& frame, const LoopStart& start, std::span<Stack> stacks) {
  Run& run = frame.run();
  bind(frame, start);
  std::optional<kernels::ThreadScope> threads;
  if (!code_->code->program().calls.empty()) threads.emplace(threads_);
  scalar::Context context;
  context.stop = &run.stop;
  context.workspace = workspace_;
  const scalar::Executable& code = *code_->code;
  const std::int64_t most = std::min(start.trips.value_or(std::numeric_limits<std::int64_t>::max()),
                                     run.max_trips);
  const bool growing = std::ranges::any_of(
      stacks_, [&](const ItemStack& s) { return !stacks[s.stack].certain(); });
  std::int64_t from = 0;
  for (std::int64_t chunk = first_chunk; from < most && (!start.conditional || go_ != 0);
       chunk = chunk > most / 2 ? most : chunk * 2) {
    run.check_stop();
    const bool whole = code.native() && !growing;
    const std::int64_t to = whole || most - from <= chunk ? most : from + chunk;
    for (ItemStack& s : stacks_) {
      const LoopCode::Binding& binding = code_->bindings[s.binding];
      s.rows = stacks[s.stack].prepare(binding.dtype, binding.shape, to);
      see(s.binding, s.rows);
    }
    const std::int64_t params[4] = {from, to, start.certain ? *start.trips : 0, run.max_trips};
    const scalar::Status status = code.run(context, views_.data(), params);
    if (status != scalar::done) {
      run.check_stop();
      throw scalar::failure(code.program(), context, status);
    }
    from = stopped_;
  }
  for (ItemStack& s : stacks_) s.rows = Tensor();
  if (static_cast<std::size_t>(places_.total) > most_kept_bytes) release();
  return {from, !start.conditional || go_ != 0};
}

}  // namespace rondel::runtime
