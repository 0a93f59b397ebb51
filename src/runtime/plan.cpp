#include "runtime/plan.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "kernels/looks.h"
#include "kernels/threads.h"

#include <algorithm>

namespace rondel::runtime {
namespace {

bool same_value(const Tensor& a, const Tensor& b) {
  if (a.data() == b.data() && a.owner() == b.owner()) return false;  // may have been rewritten
  if (a.dtype() != b.dtype() || a.shape() != b.shape() || a.dtype() == DType::string) return false;
  const auto bytes = static_cast<std::size_t>(a.size()) * byte_size(a.dtype());
  const Tensor left = a.packed(), right = b.packed();
  return std::equal(left.data_as<char>(), left.data_as<char>() + bytes, right.data_as<char>());
}

/// What decides whether something prepared for a step's inputs still fits them.
class InputKeys {
 public:
  explicit InputKeys(bool contiguity) : contiguity_(contiguity) {}

  bool fit(const Step& step, Frame& frame) const {
    if (!ready_) return false;
    for (std::size_t k = 0; k < step.inputs.size(); ++k) {
      if (step.inputs[k] < 0) continue;
      const Value& v = frame[step.inputs[k]];
      const Key& key = keys_[k];
      if (v.is_tensor() != key.tensor) return false;
      if (!key.tensor) continue;
      const Tensor& t = v.tensor();
      if (t.shape() != key.shape) return false;
      if (contiguity_ && t.contiguous() != key.contiguous) return false;
      if (key.value.defined() && !same_value(t, key.value)) return false;
    }
    return true;
  }

  void forget() { ready_ = false; }
  /// Nothing is remembered of inputs that are no tensors: then nothing fits.
  void remember(std::span<const Value> inputs, std::span<const std::size_t> value_inputs) {
    keys_.assign(inputs.size(), {});
    for (std::size_t k = 0; k < inputs.size(); ++k)
      if (inputs[k].is_tensor())
        keys_[k] = {true, inputs[k].tensor().shape(), inputs[k].tensor().contiguous(), {}};
    for (const std::size_t k : value_inputs)
      if (k < inputs.size() && inputs[k].is_tensor()) keys_[k].value = inputs[k].tensor().copy();
    ready_ = true;
  }

 private:
  struct Key {
    bool tensor = false;  ///< else nothing depends on what it holds: its declared type counts
    Shape shape;
    bool contiguous = true;
    Tensor value;  ///< of a value input
  };
  bool contiguity_;  ///< counts
  bool ready_ = false;
  std::vector<Key> keys_;
};

struct ProgramState : StepState {
  InputKeys keys{true};
  OutputTypes outputs;
  std::shared_ptr<const scalar::Executable> code;
  std::vector<scalar::View> views;
  Tensor workspace;
};

struct KernelState : StepState {
  InputKeys keys{false};
  KernelStep::Types types;
};

std::vector<Value> gather(const Step& step, Frame& frame) {
  std::vector<Value> values;
  values.reserve(step.inputs.size());
  for (const Slot s : step.inputs) values.push_back(s < 0 ? Value() : frame[s]);
  return values;
}

void prepare(const ProgramStep& step, ProgramState& state, Frame& frame) {
  const std::vector<Value> inputs = gather(step, frame);
  state.keys.forget();
  state.code = nullptr;
  state.outputs = step.types(inputs);
  state.keys.remember(inputs, step.value_inputs);
}

void prepare_code(const ProgramStep& step, ProgramState& state, Frame& frame) {
  auto code = step.code(gather(step, frame));
  const auto workspace = static_cast<std::int64_t>(code->program().workspace_bytes());
  state.workspace = workspace > 0 ? frame.run().memory.allocate(DType::u8, {workspace}) : Tensor();
  state.code = std::move(code);
}

/// Outputs without elements need no code; loops over their other extents would be for nothing.
void make_empty_outputs(const ProgramStep& step, const ProgramState& state, Frame& frame) {
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      frame[step.outputs[j]] = frame.run().memory.allocate(state.outputs[j].first,
                                                           state.outputs[j].second);
}

bool try_view(const ProgramStep& step, const ProgramState& state, Frame& frame) {
  if (!step.view) return false;
  auto views = step.view(gather(step, frame), state.outputs);
  if (!views) return false;
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0) frame[step.outputs[j]] = std::move((*views)[j]);
  return true;
}

}  // namespace

void Run::assign(const Tensor& from, const Tensor& to) const {
  assign_in_parts(from, to, [this] { check_stop(); });
}

Tensor Run::zeros(DType dtype, Shape shape) const {
  Tensor t = memory.allocate(dtype, std::move(shape));
  if (dtype != DType::string) clear_in_parts(t, [this] { check_stop(); });
  return t;
}

void Run::end() const {
  if (static_cast<Stop>(stop.load()) == Stop::cancelled)
    throw_error(Blame::cancelled, "the run was ended by its terminate flag");
  throw_error(Blame::deadline, "the run's deadline has passed");
}

Frame::Frame(const Plan& plan) : plan_(plan), slots_(plan.slot_count) {
  for (const auto& [slot, tensor] : plan.constants) (*this)[slot] = tensor;
  for (const auto& step : plan.steps) states_.push_back(step->make_state());
  extents_.assign(plan.layout.symbols.size(), -1);
  if (extents_.empty()) places_ = place(plan.layout, extents_, plan.slot_count);
}

/// Places for the extents that the plan starts from, unless they are those of the last time.
void Frame::lay_out() {
  bool same = true;
  for (std::size_t i = 0; i < extents_.size(); ++i) {
    const Layout::Symbol& symbol = plan_.layout.symbols[i];
    const std::int64_t now = (*this)[symbol.slot].tensor().shape()[symbol.axis];
    same = same && now == extents_[i];
    extents_[i] = now;
  }
  if (same) return;
  places_ = place(plan_.layout, extents_, plan_.slot_count);
  arena_ = Tensor();
}

Tensor Frame::allocate(Slot slot, DType dtype, const Shape& shape) {
  const Places::Place place = places_.by_slot[static_cast<std::size_t>(slot)];
  const std::int64_t bytes = checked_mul(element_count(shape),
                                         static_cast<std::int64_t>(byte_size(dtype)));
  if (place.offset < 0 || bytes > place.bytes) return run_->memory.allocate(dtype, shape);
  if (!arena_.defined()) arena_ = run_->memory.allocate(DType::u8, {places_.total});
  return Tensor(dtype, shape, row_major_strides(shape), arena_.data_as<char>() + place.offset,
                arena_.owner());
}

void Frame::execute() {
  lay_out();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
    run_->check_stop();
    const Step& step = *plan_.steps[s];
    try {
      step.run(*this, states_[s].get());
    } catch (const Error& e) {
      // What memory and size arithmetic say does not know who asked.
      const bool ours = e.blame() == Blame::caller || e.blame() == Blame::limit;
      if (!ours || !e.frames().empty()) throw;
      throw e.within(step.source);
    }
    for (const Slot dead : step.release) slots_[static_cast<std::size_t>(dead)] = Value();
  }
  run_->check_stop();
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
  if (!frame) frame = std::make_unique<Frame>(*this);
  frame->run_ = &run;
  return frame;
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  // What a run left behind (an error, results that were copied out) is let go of here.
  std::fill(frame->slots_.begin(), frame->slots_.end(), Value());
  for (const auto& [slot, tensor] : constants) (*frame)[slot] = tensor;
  frame->arena_ = Tensor();
  const std::lock_guard lock(pool_->mutex);
  pool_->free.push_back(std::move(frame));
}

std::unique_ptr<StepState> ProgramStep::make_state() const {
  return std::make_unique<ProgramState>();
}

void ProgramStep::run(Frame& frame, StepState* remembered) const {
  auto& state = static_cast<ProgramState&>(*remembered);
  if (!state.keys.fit(*this, frame)) prepare(*this, state, frame);
  if (try_view(*this, state, frame)) return;
  if (!checks_always && !state.outputs.empty() &&
      std::ranges::all_of(state.outputs,
                          [](const auto& o) { return element_count(o.second) == 0; }))
    return make_empty_outputs(*this, state, frame);
  if (!state.code) prepare_code(*this, state, frame);

  state.views.clear();
  for (const Slot s : inputs) {
    if (s < 0) continue;
    const Tensor& t = frame[s].tensor();
    state.views.push_back({t.data(), t.shape().data(), t.strides().data()});
  }
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const auto& [dtype, shape] = state.outputs[j];
    if (outputs[j] < 0) continue;
    frame[outputs[j]] = frame.allocate(outputs[j], dtype, shape);
    const Tensor& t = frame[outputs[j]].tensor();
    state.views.push_back({t.data(), t.shape().data(), t.strides().data()});
  }
  scalar::Context context;
  context.stop = &frame.run().stop;
  context.workspace = state.workspace.data();
  const scalar::Status status = state.code->run(context, state.views.data(), nullptr);
  if (status == scalar::done) {
    for (const Slot s : outputs)
      if (s >= 0) frame.run().memory.count_text(frame[s]);
    return;
  }
  frame.run().check_stop();
  throw scalar::failure(state.code->program(), context, status);
}

std::unique_ptr<StepState> KernelStep::make_state() const {
  return std::make_unique<KernelState>();
}

void KernelStep::run(Frame& frame, StepState* remembered) const {
  auto& state = static_cast<KernelState&>(*remembered);
  const std::vector<Value> values = gather(*this, frame);
  if (!state.keys.fit(*this, frame)) {
    state.keys.forget();
    state.types = check(values);
    state.keys.remember(values, value_inputs);
  }
  const Types& types = state.types;
  std::vector<Value> results(outputs.size());
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (types[j] && outputs[j] >= 0)
      results[j] = frame.allocate(outputs[j], types[j]->first, types[j]->second);
  const kernels::KernelCall::Allocate allocate = [&](DType dtype, Shape shape) {
    return frame.run().memory.allocate(dtype, std::move(shape));
  };
  kernels::KernelCall call(values, results, allocate);
  call.stop = &frame.run().stop;
  const kernels::ThreadScope threads(frame.run().threads);
  try {
    kernel(call);
  } catch (const kernels::Stopped&) { frame.run().check_stop(); } catch (const Error& e) {
    throw e.within(source);
  }
  frame.run().check_stop();
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (outputs[j] < 0) continue;
    frame.run().memory.count_text(results[j]);
    frame[outputs[j]] = std::move(results[j]);
  }
}

void bind_captures(const Plan& plan, Frame& from, Frame& to) {
  for (const auto& [outer, inner] : plan.captures) to[inner] = from[outer];
}

void IfStep::run(Frame& frame, StepState*) const {
  const Plan& taken = read_scalar_bool(frame[inputs[0]], "the condition") ? then : otherwise;
  FrameLease inner(taken, frame.run());
  bind_captures(taken, frame, *inner);
  inner->execute();
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0) frame[outputs[j]] = (*inner)[taken.results[j]];
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
