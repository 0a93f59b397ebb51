#include "runtime/plan.h"

#include "base/checked.h"
#include "base/copy.h"
#include "base/error.h"
#include "kernels/stop_check.h"
#include "kernels/threads.h"

#include <algorithm>

namespace rondel::runtime {
namespace {

bool is_row_major(const Tensor& t, DType dtype, const Shape& shape) {
  return t.dtype() == dtype && t.shape() == shape && t.contiguous();
}

/// Whether the block that the tensor begins can hold this type, is not much too large for it, and
/// has no other holder.
bool may_be_renewed(const Tensor& t, DType dtype, const Shape& shape) {
  if (dtype == DType::string) return false;
  const auto bytes = static_cast<std::size_t>(element_count(shape)) * byte_size(dtype);
  const std::size_t block = Memory::bytes_if_alone(t);
  return block >= bytes && (block <= 256 || block / 4 <= bytes);
}

/// An output that is a view, for inputs of the shapes and strides it was made for.
struct OutputView {
  DType dtype;
  Shape shape, strides;
  std::ptrdiff_t offset;  ///< bytes from the input's address
  Tensor constant;        ///< where it is not of an input
};

/// How a program step runs for some shapes.
struct PreparedProgram {
  OutputTypes outputs;
  std::vector<OutputView> views;                   ///< empty: none
  std::shared_ptr<const scalar::Executable> code;  ///< null: views, or outputs without elements
  std::int64_t workspace_bytes = 0;
  bool text = false;  ///< an output is of strings
};

struct ProgramState : StepState {
  MruCache<PreparedProgram> cache;
  std::vector<scalar::View> views;
  Tensor workspace;
};

struct PreparedKernel {
  KernelStep::Prepared step;
  std::int64_t workspace_bytes = 0;
  int threads = 0;  ///< that the workspace is for
};

struct KernelState : StepState {
  MruCache<PreparedKernel> cache;
  std::vector<scalar::View> views;
  Tensor workspace;
};

struct UnsizedKernelState : StepState {
  MruCache<UnsizedKernelStep::Types> cache;
  std::vector<Value> inputs, results;
  void release() override {
    inputs.clear();
    results.clear();
  }
};

std::vector<OutputView> views_of(const ProgramStep& step, std::span<const Value> inputs,
                                 const OutputTypes& outputs) {
  if (!step.view) return {};
  const auto made = step.view(inputs, outputs);
  if (!made) return {};
  std::vector<OutputView> views;
  for (const Tensor& t : *made) {
    OutputView v{t.dtype(), t.shape(), t.strides(), 0, {}};
    if (step.viewed < 0) v.constant = t;
    else
      v.offset = t.data_as<char>() -
                 inputs[static_cast<std::size_t>(step.viewed)].tensor().data_as<char>();
    views.push_back(std::move(v));
  }
  return views;
}

PreparedProgram& remember(const ProgramStep& step, ProgramState& state, Frame& frame) {
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  PreparedProgram p;
  p.outputs = step.types(inputs);
  p.views = views_of(step, inputs, p.outputs);
  // Outputs without elements need no code; loops over their other extents would be for nothing.
  const auto empty = [](const auto& o) { return element_count(o.second) == 0; };
  const bool nothing = !step.checks_always && !p.outputs.empty() &&
                       std::ranges::all_of(p.outputs, empty);
  if (p.views.empty() && !nothing) {
    p.code = step.code(inputs);
    p.workspace_bytes = static_cast<std::int64_t>(p.code->program().workspace_bytes());
  }
  p.text = std::ranges::any_of(p.outputs, [](const auto& o) { return o.first == DType::string; });
  InputKeys keys(inputs, step.value_inputs, step.view ? Strides::all : Strides::contiguity);
  return state.cache.add(std::move(keys), std::move(p));
}

void give_views(const ProgramStep& step, const PreparedProgram& p, Frame& frame) {
  for (std::size_t j = 0; j < step.outputs.size(); ++j) {
    if (step.outputs[j] < 0) continue;
    const OutputView& v = p.views[j];
    frame.save_spare_block(step.outputs[j]);
    if (step.viewed < 0) {
      frame[step.outputs[j]] = v.constant;
      continue;
    }
    const Tensor& of = frame[step.inputs[static_cast<std::size_t>(step.viewed)]].tensor();
    frame[step.outputs[j]] = Tensor(v.dtype, v.shape, v.strides, of.data_as<char>() + v.offset,
                                    of.owner());
  }
}

scalar::View view_of(const Tensor& t) { return {t.data(), t.shape().data(), t.strides().data()}; }

std::int64_t workspace_of(const KernelStep& step, const KernelStep::Prepared& p,
                          std::span<const Value> inputs) {
  std::vector<kernels::Operand> operands(p.kernel->inputs() + p.kernel->outputs(),
                                         {.given = false});
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].defined())
      operands[k] = {true, inputs[k].tensor().shape(), inputs[k].tensor().contiguous()};
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0) operands[p.kernel->inputs() + j] = {true, p.types[j].second};
  return p.kernel->workspace(operands);
}

PreparedKernel& remember(const KernelStep& step, KernelState& state, Frame& frame) {
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  PreparedKernel p;
  p.step = step.prepare(inputs);
  p.workspace_bytes = workspace_of(step, p.step, inputs);
  p.threads = frame.run().threads;
  return state.cache.add(InputKeys(inputs, step.value_inputs, Strides::contiguity), std::move(p));
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

void Run::end() const {
  if (static_cast<Stop>(stop.load()) == Stop::cancelled)
    throw_error(Blame::cancelled, "the run was ended by its terminate flag");
  throw_error(Blame::deadline, "the run's deadline has passed");
}

Frame::Frame(const Plan& plan, bool entered_again) : plan_(plan), entered_again_(entered_again) {
  for (std::size_t s = 0; s < plan.slot_count; ++s) slots_.push_back(std::make_unique<Value>());
  std::vector<bool> constant(plan.slot_count);
  for (const auto& [slot, tensor] : plan.constants) {
    (*this)[slot] = tensor;
    constant[static_cast<std::size_t>(slot)] = true;
  }
  for (std::size_t s = 0; s < plan.slot_count; ++s)
    if (!constant[s]) variable_.push_back(static_cast<Slot>(s));
  for (const auto& step : plan.steps) states_.push_back(step->make_state());
}

/// Assigns arena offsets for the extents at hand.
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
    ArenaOffsets offsets = assign_offsets(plan_.layout, extents_, plan_.slot_count);
    cached_offsets_.insert(cached_offsets_.begin(),
                           std::make_unique<CachedOffsets>(extents_, std::move(offsets)));
  }
  if (arena_.defined() && arena_.size() < cached_offsets_.front()->offsets.total) release_arena();
}

bool Frame::in_arena(const Tensor& t) const {
  if (!arena_.defined()) return false;
  const auto offset = reinterpret_cast<std::uintptr_t>(t.data()) -
                      reinterpret_cast<std::uintptr_t>(arena_.data());
  return offset < static_cast<std::uintptr_t>(arena_.size());
}

void Frame::release_arena() {
  for (const Layout::Piece& piece : plan_.layout.pieces) (*this)[piece.slot] = Value();
  arena_ = Tensor();
}

const Tensor& Frame::output(Slot slot, DType dtype, const Shape& shape) {
  const std::int64_t bytes = checked_mul(element_count(shape),
                                         static_cast<std::int64_t>(byte_size(dtype)));
  const ArenaOffsets& offsets = cached_offsets_.front()->offsets;
  const ArenaOffsets::Range range = offsets.by_slot[static_cast<std::size_t>(slot)];
  const bool in_range = range.offset >= 0 && bytes <= range.bytes;
  Value& v = (*this)[slot];
  if (!in_range) return renew(v, dtype, shape);
  if (!arena_.defined()) arena_ = run_->memory.allocate(DType::u8, {offsets.total});
  char* const address = arena_.data_as<char>() + range.offset;
  if (const auto* t = std::get_if<Tensor>(&v);
      t == nullptr || t->data() != address || !is_row_major(*t, dtype, shape))
    v = Tensor(dtype, shape, row_major_strides(shape), address, arena_.owner());
  return std::get<Tensor>(v);
}

const Tensor& Frame::renew(Value& v, DType dtype, const Shape& shape) {
  const auto* t = std::get_if<Tensor>(&v);
  if (!spare_.empty() && (t == nullptr || !may_be_renewed(*t, dtype, shape))) {
    const auto fits = [&](const Tensor& s) { return may_be_renewed(s, dtype, shape); };
    if (const auto it = std::ranges::find_if(spare_, fits); it != spare_.end()) {
      v = std::move(*it);
      spare_.erase(it);
    }
  }
  return run_->renew(v, dtype, shape);
}

void Frame::save_spare_block(Slot s) {
  constexpr std::size_t most = 8;
  const auto* t = std::get_if<Tensor>(&(*this)[s]);
  if (!entered_again_ || t == nullptr || spare_.size() == most) return;
  const std::size_t bytes = Memory::bytes_if_alone(*t);
  if (bytes != 0 && bytes <= most_kept_bytes)
    spare_.push_back(std::get<Tensor>(std::move((*this)[s])));
}

void Frame::drop(Slot s) {
  Value& v = (*this)[s];
  if (const auto* t = std::get_if<Tensor>(&v); t != nullptr && entered_again_) {
    if (in_arena(*t)) return;
    const std::size_t bytes = Memory::bytes_if_alone(*t);
    if (bytes != 0 && bytes <= most_kept_bytes) return;
  }
  v = Value();
}

void Frame::release_sequences(const Step& step) {
  for (const Slot dead : step.release)
    if (!(*this)[dead].is_tensor()) (*this)[dead] = Value();
}

void Frame::reset_for_reentry() {
  for (const Slot s : variable_) drop(s);
  if (arena_.defined() && static_cast<std::size_t>(arena_.size()) > most_kept_bytes)
    release_arena();
}

void Frame::clear() {
  for (const Slot s : variable_) (*this)[s] = Value();
  spare_.clear();
  arena_ = Tensor();
  for (const auto& state : states_)
    if (state) state->release();
}

void Frame::execute() {
  assign_arena_offsets();
  for (std::size_t s = 0; s < plan_.steps.size(); ++s) {
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
  if (!frame) frame = std::make_unique<Frame>(*this, false);
  frame->begin(run);
  return frame;
}

void Plan::give_back(std::unique_ptr<Frame> frame) const {
  // Drops what the run left behind (after an error, or results that were copied out).
  frame->clear();
  const std::lock_guard lock(pool_->mutex);
  pool_->free.push_back(std::move(frame));
}

Frame& InnerFrame::enter(const Plan& plan, Frame& outer, bool again) {
  if (!frame_) frame_ = std::make_unique<Frame>(plan, again);
  frame_->begin(outer.run());
  for (const auto& [theirs, ours] : plan.captures) (*frame_)[ours] = outer[theirs];
  return *frame_;
}

void Frame::move_result(std::size_t result, Frame& to, Slot slot) {
  const Slot ours = plan_.results[result];
  if (!plan_.movable[result]) {
    to[slot] = (*this)[ours];
    return;
  }
  exchange(ours, to, slot);
}

void Frame::exchange(Slot ours, Frame& to, Slot theirs) {
  slots_[static_cast<std::size_t>(ours)].swap(to.slots_[static_cast<std::size_t>(theirs)]);
  drop(ours);
}

std::vector<Value> values_of(Frame& frame, std::span<const Slot> slots) {
  std::vector<Value> values;
  values.reserve(slots.size());
  for (const Slot s : slots) values.push_back(s < 0 ? Value() : frame[s]);
  return values;
}

std::unique_ptr<StepState> ProgramStep::make_state() const {
  return std::make_unique<ProgramState>();
}

void ProgramStep::run(Frame& frame, StepState* cache) const {
  auto& state = static_cast<ProgramState&>(*cache);
  const PreparedProgram* p = state.cache.find(frame, inputs);
  if (p == nullptr) p = &remember(*this, state, frame);
  if (!p->views.empty()) return give_views(*this, *p, frame);

  state.views.clear();
  const auto bind = [&](const Tensor& t) { state.views.push_back(view_of(t)); };
  for (const Slot s : inputs)
    if (s >= 0) bind(frame[s].tensor());
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0) bind(frame.output(outputs[j], p->outputs[j].first, p->outputs[j].second));
  if (!p->code) return;
  if (p->workspace_bytes > 0 &&
      (!state.workspace.defined() || state.workspace.size() < p->workspace_bytes))
    state.workspace = frame.run().memory.allocate(DType::u8, {p->workspace_bytes});
  scalar::Context context;
  context.stop = &frame.run().stop;
  context.workspace = state.workspace.data();
  const scalar::Status status = p->code->run(context, state.views.data(), nullptr);
  if (status == scalar::done) {
    if (p->text)
      for (const Slot s : outputs)
        if (s >= 0) frame.run().memory.count_text(frame[s]);
    return;
  }
  frame.run().check_stop();
  throw scalar::failure(p->code->program(), context, status);
}

std::unique_ptr<StepState> KernelStep::make_state() const {
  return std::make_unique<KernelState>();
}

void KernelStep::run(Frame& frame, StepState* cache) const {
  auto& state = static_cast<KernelState&>(*cache);
  const kernels::ThreadScope threads(frame.run().threads);
  PreparedKernel* p = state.cache.find(frame, inputs);
  if (p == nullptr) p = &remember(*this, state, frame);
  if (p->threads != frame.run().threads) {
    p->workspace_bytes = workspace_of(*this, p->step, values_of(frame, inputs));
    p->threads = frame.run().threads;
  }
  if (p->workspace_bytes > 0 &&
      (!state.workspace.defined() || state.workspace.size() < p->workspace_bytes))
    state.workspace = frame.run().memory.allocate(DType::u8, {p->workspace_bytes});
  const kernels::SizedKernel& kernel = *p->step.kernel;
  // Operands that are left out stay null.
  state.views.assign(kernel.inputs() + kernel.outputs() + 1, {});
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] >= 0) state.views[k] = view_of(frame[inputs[k]].tensor());
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    const auto& [dtype, shape] = p->step.types[j];
    if (outputs[j] >= 0)
      state.views[kernel.inputs() + j] = view_of(frame.output(outputs[j], dtype, shape));
  }
  if (p->workspace_bytes > 0) state.views.back() = view_of(state.workspace);
  scalar::Context context;
  context.stop = &frame.run().stop;
  const scalar::Status status = kernels::SizedKernel::call(context, state.views, &kernel);
  if (status == scalar::done) return;
  frame.run().check_stop();
  fail_at(source, "{}",
          site_text(kernel.failures()[static_cast<std::size_t>(status) - 1], context.shown));
}

std::unique_ptr<StepState> UnsizedKernelStep::make_state() const {
  return std::make_unique<UnsizedKernelState>();
}

void UnsizedKernelStep::run(Frame& frame, StepState* cache) const {
  auto& state = static_cast<UnsizedKernelState&>(*cache);
  const Types* types = state.cache.find(frame, inputs);
  if (types == nullptr) {
    const std::vector<Value> values = values_of(frame, inputs);
    Types checked = check(values);
    types = &state.cache.add(InputKeys(values, value_inputs, Strides::none), std::move(checked));
  }
  state.inputs.clear();
  for (const Slot s : inputs) state.inputs.push_back(s < 0 ? Value() : frame[s]);
  state.results.assign(outputs.size(), Value());
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (outputs[j] < 0 || !(*types)[j]) continue;
    frame.output(outputs[j], (*types)[j]->first, (*types)[j]->second);
    state.results[j] = std::move(frame[outputs[j]]);
  }
  std::vector<Tensor> texts;
  const kernels::UnsizedCall::Allocate allocate = [&](DType dtype, Shape shape) {
    const Tensor made = frame.run().memory.allocate(dtype, std::move(shape));
    if (dtype == DType::string) texts.push_back(made);
    return made;
  };
  frame.release_sequences(*this);
  kernels::UnsizedCall call(state.inputs, state.results, allocate);
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
    if (state.results[j].is_tensor()) frame.run().memory.count_text(state.results[j]);
    frame[outputs[j]] = std::move(state.results[j]);
  }
  for (const Tensor& made : texts) frame.run().memory.count_text(made);
  state.inputs.clear();
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
