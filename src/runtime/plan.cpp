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

/// Whether a block of `block` bytes, 0 where it is none that may be written over, can hold so many
/// and is not much too large for them.
bool may_be_renewed(std::size_t block, std::int64_t bytes) {
  const auto needed = static_cast<std::size_t>(bytes);
  return block != 0 && block >= needed && (block <= 256 || block / 4 <= needed);
}

/// Likewise, whether the block that the tensor begins can hold this type.
bool may_be_renewed(const Tensor& t, DType dtype, const Shape& shape) {
  if (dtype == DType::string) return false;
  return may_be_renewed(Memory::bytes_if_alone(t),
                        element_count(shape) * static_cast<std::int64_t>(byte_size(dtype)));
}

/// An output that is a view, for inputs of the shapes and strides it was made for.
struct OutputView {
  DType dtype;
  Shape shape, strides;
  Form form;
  std::ptrdiff_t offset;  ///< bytes from the input's address
  Tensor constant;        ///< where it is not of an input
};

std::vector<OutputForm> forms_of(const OutputTypes& types) {
  std::vector<OutputForm> forms;
  for (const auto& [dtype, shape] : types) forms.emplace_back(dtype, shape);
  return forms;
}

/// How a program step runs for some shapes.
struct PreparedProgram {
  std::vector<OutputForm> outputs;
  std::vector<OutputView> given;                   ///< outputs that are views; empty: none
  std::shared_ptr<const scalar::Executable> code;  ///< null: views, or outputs without elements
  std::int64_t workspace_bytes = 0;
  bool text = false;                   ///< an output is of strings
  std::vector<scalar::View> operands;  ///< addresses are set for each run
};

struct ProgramState : StepState {
  MruCache<PreparedProgram> cache;
  scalar::Context context;
  Tensor workspace;
};

struct PreparedKernel {
  KernelStep::Prepared step;
  std::vector<OutputForm> outputs;
  std::int64_t workspace_bytes = 0;
  int threads = 0;                     ///< that the workspace is for
  std::vector<scalar::View> operands;  ///< addresses are set for each run; null: left out
};

struct KernelState : StepState {
  MruCache<PreparedKernel> cache;
  scalar::Context context;
  Tensor workspace;
};

struct UnsizedKernelState : StepState {
  MruCache<std::vector<std::optional<OutputForm>>> cache;
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
    OutputView v{t.dtype(), t.shape(), t.strides(), new_form(), 0, {}};
    if (step.viewed < 0) v.constant = t;
    else
      v.offset = t.data_as<char>() -
                 inputs[static_cast<std::size_t>(step.viewed)].tensor().data_as<char>();
    views.push_back(std::move(v));
  }
  return views;
}

scalar::View view_of(const Shape& extents, const Shape& strides) {
  return {nullptr, extents.data(), strides.data()};
}

PreparedProgram& remember(const ProgramStep& step, ProgramState& state, Frame& frame) {
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  PreparedProgram p;
  const OutputTypes types = step.types(inputs);
  p.outputs = forms_of(types);
  p.given = views_of(step, inputs, types);
  // Outputs without elements need no code; loops over their other extents would be for nothing.
  const auto empty = [](const OutputForm& o) { return o.bytes == 0; };
  const bool nothing = !step.checks_always && !p.outputs.empty() &&
                       std::ranges::all_of(p.outputs, empty);
  if (p.given.empty() && !nothing) {
    p.code = step.code(inputs);
    p.workspace_bytes = static_cast<std::int64_t>(p.code->program().workspace_bytes());
  }
  p.text = std::ranges::any_of(types, [](const auto& o) { return o.first == DType::string; });
  InputKeys keys(frame, step.inputs, step.value_inputs,
                 step.view ? Strides::all : Strides::contiguity);
  auto& [kept, prepared] = state.cache.add(std::move(keys), std::move(p));
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] >= 0) prepared.operands.push_back(view_of(kept.shape(k), kept.strides(k)));
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      prepared.operands.push_back(view_of(prepared.outputs[j].shape, prepared.outputs[j].strides));
  return prepared;
}

void give_views(const ProgramStep& step, const PreparedProgram& p, Frame& frame) {
  for (std::size_t j = 0; j < step.outputs.size(); ++j) {
    if (step.outputs[j] < 0) continue;
    const OutputView& v = p.given[j];
    frame.save_spare_block(step.outputs[j]);
    Content& to = frame.content(step.outputs[j]);
    if (step.viewed < 0) {
      to.set(v.constant, v.form);
      continue;
    }
    const Tensor& of = frame[step.inputs[static_cast<std::size_t>(step.viewed)]].tensor();
    to.set(Tensor(v.dtype, v.shape, v.strides, of.data_as<char>() + v.offset, of.owner()), v.form);
  }
}

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

void grow_workspace(Tensor& workspace, std::int64_t bytes, Run& run) {
  if (!workspace.defined() || workspace.size() < bytes)
    workspace = run.memory.allocate(DType::u8, {bytes});
}

PreparedKernel& remember(const KernelStep& step, KernelState& state, Frame& frame) {
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  PreparedKernel p;
  p.step = step.prepare(inputs);
  p.outputs = forms_of(p.step.types);
  p.workspace_bytes = workspace_of(step, p.step, inputs);
  p.threads = frame.run().threads;
  auto& [kept, prepared] = state.cache.add(
      InputKeys(frame, step.inputs, step.value_inputs, Strides::contiguity), std::move(p));
  const kernels::SizedKernel& kernel = *prepared.step.kernel;
  prepared.operands.resize(kernel.inputs() + kernel.outputs() + 1);
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] >= 0) prepared.operands[k] = view_of(kept.shape(k), kept.strides(k));
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      prepared.operands[kernel.inputs() + j] = view_of(prepared.outputs[j].shape,
                                                       prepared.outputs[j].strides);
  return prepared;
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

/// A tensor of this type in a block that nobody else holds: that of the content, a spare one, or a
/// new one.
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
  const Tensor& t = *c.tensor();
  c.set(Tensor(type.dtype, type.shape, type.strides, t.data(), t.owner()), type.form);
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

std::unique_ptr<StepState> ProgramStep::make_state() const {
  return std::make_unique<ProgramState>();
}

void ProgramStep::run(Frame& frame, StepState* cache) const {
  auto& state = static_cast<ProgramState&>(*cache);
  PreparedProgram* p = state.cache.find(frame, inputs);
  if (p == nullptr) p = &remember(*this, state, frame);
  if (!p->given.empty()) return give_views(*this, *p, frame);

  scalar::View* operand = p->operands.data();
  for (const Slot s : inputs)
    if (s >= 0) (operand++)->data = frame.content(s).tensor()->data();
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0) (operand++)->data = frame.output(outputs[j], p->outputs[j]).data();
  if (!p->code) return;
  if (p->workspace_bytes > 0) grow_workspace(state.workspace, p->workspace_bytes, frame.run());
  scalar::Context& context = state.context;
  context.stop = &frame.run().stop;
  context.workspace = state.workspace.data();
  const scalar::Status status = p->code->run(context, p->operands.data(), nullptr);
  if (status == scalar::done) [[likely]] {
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
  const kernels::SizedKernel& kernel = *p->step.kernel;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] >= 0) p->operands[k].data = frame[inputs[k]].tensor().data();
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0)
      p->operands[kernel.inputs() + j].data = frame.output(outputs[j], p->outputs[j]).data();
  if (p->workspace_bytes > 0) {
    grow_workspace(state.workspace, p->workspace_bytes, frame.run());
    p->operands.back() = {state.workspace.data(), state.workspace.shape().data(),
                          state.workspace.strides().data()};
  }
  scalar::Context& context = state.context;
  context.stop = &frame.run().stop;
  const scalar::Status status = kernels::SizedKernel::call(context, p->operands, &kernel);
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
  const auto* types = state.cache.find(frame, inputs);
  if (types == nullptr) {
    std::vector<std::optional<OutputForm>> forms;
    for (auto& type : check(values_of(frame, inputs))) {
      forms.emplace_back();
      if (type) forms.back().emplace(type->first, std::move(type->second));
    }
    types = &state.cache
                 .add(InputKeys(frame, inputs, value_inputs, Strides::none), std::move(forms))
                 .prepared;
  }
  state.inputs.clear();
  for (const Slot s : inputs) state.inputs.push_back(s < 0 ? Value() : frame[s]);
  state.results.assign(outputs.size(), Value());
  for (std::size_t j = 0; j < outputs.size(); ++j) {
    if (outputs[j] < 0 || !(*types)[j]) continue;
    frame.output(outputs[j], *(*types)[j]);
    state.results[j] = frame.content(outputs[j]).take();
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
    Content& to = frame.content(outputs[j]);
    to.set(std::move(state.results[j]));
    if ((*types)[j]) to.recognise(*(*types)[j]);
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
