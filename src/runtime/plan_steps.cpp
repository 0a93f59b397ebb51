// Larger than most: three kinds of steps, which share the caches of what is prepared for shapes.
#include "base/error.h"
#include "kernels/stop_check.h"
#include "kernels/threads.h"
#include "runtime/plan.h"
#include "scalar/guards.h"

#include <algorithm>

/// The steps for programs and kernels: how each prepares for the shapes of its inputs, and how it
/// runs.
namespace rondel::runtime {
namespace {

/// An output that is a view of an input, for given shapes and strides of the inputs.
struct OutputView {
  DType dtype;
  Shape shape, strides;
  Form form;
  std::ptrdiff_t offset;  ///< bytes from the input's address
  Tensor constant;        ///< the output, if it is not a view of an input
};

std::vector<OutputForm> forms_of(const OutputTypes& types) {
  std::vector<OutputForm> forms;
  for (const auto& [dtype, shape] : types) forms.emplace_back(dtype, shape);
  return forms;
}

/// A small cache of what is shared by all members of a shape class, most recently used first. `T`:
/// what is shared.
template <class T> class ClassCache {
 public:
  /// The entry whose class contains these inputs, or nullopt. Writes the output types to `types`.
  std::optional<T> find(std::span<const Tensor* const> inputs, OutputTypes& types) {
    const auto it = std::ranges::find_if(
        known_, [&](const auto& known) { return known.first->evaluate(inputs, types); });
    if (it == known_.end()) return std::nullopt;
    std::rotate(known_.begin(), it, it + 1);
    return known_.front().second;
  }
  void add(std::shared_ptr<const ClassTypes> types, T served) {
    constexpr std::size_t most = 4;
    // The class may be cached already, if its `evaluate` left this member to the step.
    std::erase_if(known_, [&](const auto& known) { return known.first == types; });
    if (known_.size() == most) known_.pop_back();
    known_.emplace(known_.begin(), std::move(types), std::move(served));
  }

 private:
  std::vector<std::pair<std::shared_ptr<const ClassTypes>, T>> known_;
};

/// The workspace of a step. Between runs only a small one is kept, and it does not count. A run
/// that needs another size gets a new one, so that what counts does not depend on earlier runs.
class Workspace {
 public:
  /// At least so many bytes, until `release`.
  const Tensor& of(std::int64_t bytes, Run& run) {
    if (!counted_ || block_.size() < bytes) [[unlikely]]
      take(bytes, run);
    return block_;
  }
  void release() {
    if (!std::exchange(counted_, false)) return;
    if (static_cast<std::size_t>(block_.size()) > most_kept_bytes) block_ = Tensor();
    else Memory::uncount(block_);
  }

 private:
  void take(std::int64_t bytes, Run& run) {
    if (!counted_ && block_.defined() && block_.size() == bytes) {
      run.memory.count(block_);
    } else {
      release();
      block_ = Tensor();
      block_ = run.memory.allocate(DType::u8, {bytes});
    }
    counted_ = true;
  }
  Tensor block_;
  bool counted_ = false;
};

struct ProgramCode {
  std::shared_ptr<const scalar::Executable> code;
  std::int64_t workspace_bytes = 0;
};

/// What a program step has prepared for given shapes.
struct PreparedProgram {
  std::vector<OutputForm> outputs;
  std::vector<OutputView> given;       ///< the outputs, if they are views; else empty
  bool copied = false;                 ///< the output is a copy of the viewed input
  ProgramCode code;                    ///< null if outputs are views, a copy or without elements
  std::vector<scalar::View> operands;  ///< addresses are set before each call
  std::vector<std::int32_t> over;      ///< per output: the input that it may overwrite, or -1
  std::vector<Slot> dying;             ///< per output: what it overwrites in this call, or -1
  std::uint32_t runs = 0;              ///< of these shapes, beside the first one
  bool own_code = false;
};

struct ProgramState : StepState {
  MruCache<PreparedProgram> cache;
  ClassCache<ProgramCode> classes;
  scalar::Context context;
  Workspace workspace;
  void release() override { workspace.release(); }
  // Scratch, used while something is prepared.
  std::vector<const Tensor*> tensors;
  OutputTypes types;
  std::vector<OutputForm> forms;
};

using SharedKernel = std::shared_ptr<const kernels::SizedKernel>;

struct PreparedKernel {
  SharedKernel kernel;
  std::vector<OutputForm> outputs;
  std::int64_t workspace_bytes = 0;
  int threads = 0;                     ///< the thread count that the workspace size is for
  std::vector<scalar::View> operands;  ///< addresses are set before each call; null: omitted
};

struct KernelState : StepState {
  MruCache<PreparedKernel> cache;
  ClassCache<SharedKernel> classes;
  scalar::Context context;
  Workspace workspace;
  void release() override { workspace.release(); }
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

/// A program that writes text overwrites nothing: there may be too much text, which is known once
/// it is written.
void find_overwritten(const ProgramStep& step, PreparedProgram& p) {
  p.over.assign(step.outputs.size(), -1);
  p.dying.assign(step.outputs.size(), -1);
  if (std::ranges::count(p.outputs, DType::string, &OutputForm::dtype) > 0) return;
  std::vector<Slot> taken;  // an input becomes one output
  for (std::size_t j = 0; j < step.outputs.size() && p.code.code; ++j) {
    const std::int32_t over = p.code.code->program().buffers[step.inputs.size() + j].may_alias;
    if (over < 0 || std::ranges::count(taken, step.inputs[static_cast<std::size_t>(over)]) > 0)
      continue;
    p.over[j] = over;
    taken.push_back(step.inputs[static_cast<std::size_t>(over)]);
  }
}

/// Code of these very shapes replaces that of their class, if they have come often and it is ready.
void ask_for_own_code(const ProgramStep& step, PreparedProgram& p, Frame& frame) {
  if (p.own_code || !p.code.code || !step.when.now(++p.runs)) return;
  const TraceScope traced(frame.run().trace, ProfileEvent::Kind::prepare, step.source);
  auto code = step.own_code(values_of(frame, step.inputs), step.dying);
  if (!code) return;
  p.code.workspace_bytes = static_cast<std::int64_t>(code->program().workspace_bytes());
  p.code.code = std::move(code);
  p.own_code = true;
  find_overwritten(step, p);
}

/// Sets the entry's key and operands from the step's slots.
PreparedProgram& bind(MruCache<PreparedProgram>::Entry& entry, const ProgramStep& step,
                      Frame& frame) {
  auto& [keys, p] = entry;
  keys.set(frame, step.inputs, step.value_inputs, step.view ? Strides::all : Strides::contiguity);
  find_overwritten(step, p);
  p.operands.clear();
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] >= 0) p.operands.push_back(view_of(keys.shape(k), keys.strides(k)));
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      p.operands.push_back(view_of(p.outputs[j].shape, p.outputs[j].strides));
  return p;
}

/// Whether the program must run. Outputs without elements need no code, unless checks may fail.
bool needs_code(const ProgramStep& step, std::span<const OutputForm> outputs) {
  return step.checks_always || outputs.empty() ||
         std::ranges::any_of(outputs, [](const OutputForm& o) { return o.bytes != 0; });
}

PreparedProgram& remember(const ProgramStep& step, ProgramState& state, Frame& frame) {
  const TraceScope traced(frame.run().trace, ProfileEvent::Kind::prepare, step.source);
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  PreparedProgram p;
  const OutputTypes types = step.types(inputs);
  p.outputs = forms_of(types);
  p.given = views_of(step, inputs, types);
  p.copied = p.given.empty() && step.keeps_order;
  const bool runs_code = p.given.empty() && !p.copied && needs_code(step, p.outputs);
  if (runs_code) {
    p.code.code = step.code(inputs, step.dying);
    p.code.workspace_bytes = static_cast<std::int64_t>(p.code.code->program().workspace_bytes());
  }
  // If the step can make views, its shape class describes views and copies, not code.
  if (step.view ? !runs_code : runs_code)
    if (auto of_class = step.class_of ? step.class_of(inputs) : nullptr)
      state.classes.add(std::move(of_class), p.code);
  auto& entry = state.cache.reuse();
  entry.prepared = std::move(p);
  return bind(entry, step, frame);
}

/// Prepares for inputs whose shape class is cached. Returns null if there is no such class, or if
/// it has neither views nor code for these inputs.
PreparedProgram* remember_in_class(const ProgramStep& step, ProgramState& state, Frame& frame) {
  read_tensors(frame, step.inputs, state.tensors);
  const auto code = state.classes.find(state.tensors, state.types);
  if (!code) return nullptr;
  state.forms.clear();
  for (const auto& [dtype, shape] : state.types) state.forms.emplace_back(dtype, shape);
  std::vector<OutputView> given;
  if (step.view) given = views_of(step, values_of(frame, step.inputs), state.types);
  const bool copied = given.empty() && step.keeps_order;
  if (given.empty() && !copied && (!code->code || !needs_code(step, state.forms))) return nullptr;
  auto& entry = state.cache.reuse();
  PreparedProgram& p = entry.prepared;
  p.given = std::move(given);
  p.copied = copied;
  p.outputs.swap(state.forms);
  p.code = *code;
  p.runs = 0;
  p.own_code = false;
  return &bind(entry, step, frame);
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
    to.set_view(v.dtype, v.shape, v.strides, of.data_as<char>() + v.offset, of.owner(), v.form);
  }
}

void copy_viewed(const ProgramStep& step, Frame& frame) {
  const Tensor& from = frame[step.inputs[static_cast<std::size_t>(step.viewed)]].tensor();
  const Tensor& to = frame[step.outputs[0]].tensor();
  frame.run().assign(from, to.strided(0, from.shape(), row_major_strides(from.shape())));
}

std::int64_t workspace_of(const KernelStep& step, const PreparedKernel& p,
                          std::span<const Value> inputs) {
  const kernels::SizedKernel& kernel = *p.kernel;
  std::vector<kernels::Operand> operands(kernel.inputs() + kernel.outputs(), {.given = false});
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k].defined())
      operands[k] = {true, inputs[k].tensor().shape(), inputs[k].tensor().contiguous()};
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0) operands[kernel.inputs() + j] = {true, p.outputs[j].shape};
  return kernel.workspace(operands);
}

/// The slot of a dying input that can become output j: its block has no other owner, and it has the
/// output's type. -1: there is none.
Slot handed_over(const ProgramStep& step, const PreparedProgram& p, Frame& frame, std::size_t j) {
  if (p.over[j] < 0) return -1;
  const Slot from = step.inputs[static_cast<std::size_t>(p.over[j])];
  Content& dying = frame.content(from);
  if (dying.in_arena() || dying.bytes_if_alone() == 0) return -1;
  dying.recognise(p.outputs[j]);
  return dying.form() == p.outputs[j].form ? from : -1;
}

/// Sets the addresses of the operands and of the workspace. Dying inputs become outputs once
/// everything is allocated: where memory does not suffice, all inputs stay as they were.
void bind_memory(const ProgramStep& step, ProgramState& state, PreparedProgram& p, Frame& frame) {
  scalar::View* operand = p.operands.data();
  for (const Slot s : step.inputs)
    if (s >= 0) (operand++)->data = frame.content(s).tensor()->data();
  bool hands_over = false;
  for (std::size_t j = 0; j < step.outputs.size(); ++j) {
    if (step.outputs[j] < 0) continue;
    // Asked once: another thread may give up its share of a block meanwhile.
    const Slot from = p.dying[j] = handed_over(step, p, frame, j);
    hands_over = hands_over || from >= 0;
    (operand++)->data = from >= 0 ? frame.content(from).tensor()->data()
                                  : frame.fresh_output(step.outputs[j], p.outputs[j]).data();
  }
  if (p.code.code && p.code.workspace_bytes > 0)
    state.context.workspace = state.workspace.of(p.code.workspace_bytes, frame.run()).data();
  if (!hands_over) return;
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0 && p.dying[j] >= 0)
      frame.content(step.outputs[j]).take_over(frame.content(p.dying[j]));
}

/// Sets the entry's key and operands from the step's slots.
PreparedKernel& bind(MruCache<PreparedKernel>::Entry& entry, const KernelStep& step, Frame& frame) {
  auto& [keys, p] = entry;
  keys.set(frame, step.inputs, step.value_inputs, Strides::contiguity);
  const kernels::SizedKernel& kernel = *p.kernel;
  p.operands.assign(kernel.inputs() + kernel.outputs() + 1, {});
  for (std::size_t k = 0; k < step.inputs.size(); ++k)
    if (step.inputs[k] >= 0) p.operands[k] = view_of(keys.shape(k), keys.strides(k));
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      p.operands[kernel.inputs() + j] = view_of(p.outputs[j].shape, p.outputs[j].strides);
  return p;
}

PreparedKernel prepare(const KernelStep& step, KernelState& state, Frame& frame) {
  const std::vector<Value> inputs = values_of(frame, step.inputs);
  std::vector<const Tensor*> tensors;
  read_tensors(frame, step.inputs, tensors);
  OutputTypes types;
  PreparedKernel p;
  if (const auto known = state.classes.find(tensors, types)) {
    p.kernel = *known;
  } else {
    KernelStep::Prepared made = step.prepare(inputs);
    p.kernel = std::move(made.kernel);
    types = std::move(made.types);
    if (made.of_class) state.classes.add(std::move(made.of_class), p.kernel);
  }
  p.outputs = forms_of(types);
  p.workspace_bytes = workspace_of(step, p, inputs);
  p.threads = frame.run().threads;
  return p;
}

/// Check mode: runs the kernel between guards.
scalar::Status run_guarded(const KernelStep& step, const PreparedKernel& p,
                           scalar::Context& context) {
  scalar::GuardedKernel guarded{step.source, kernels::SizedKernel::call, p.kernel, {}};
  for (std::size_t j = 0; j < step.outputs.size(); ++j)
    if (step.outputs[j] >= 0)
      guarded.outputs.push_back({p.kernel->inputs() + j, p.outputs[j].dtype,
                                 static_cast<std::int64_t>(p.outputs[j].shape.size())});
  guarded.outputs.push_back({p.operands.size() - 1, DType::u8, 1});  // the workspace
  return guarded.run(context, p.operands);
}

PreparedKernel& remember(const KernelStep& step, KernelState& state, Frame& frame) {
  const TraceScope traced(frame.run().trace, ProfileEvent::Kind::prepare, step.source);
  PreparedKernel p = prepare(step, state, frame);
  auto& entry = state.cache.reuse();
  entry.prepared = std::move(p);
  return bind(entry, step, frame);
}

}  // namespace

void read_tensors(Frame& frame, std::span<const Slot> slots, std::vector<const Tensor*>& tensors) {
  tensors.clear();
  for (const Slot s : slots) tensors.push_back(s < 0 ? nullptr : frame.content(s).tensor());
}

std::unique_ptr<StepState> ProgramStep::make_state() const {
  return std::make_unique<ProgramState>();
}

void ProgramStep::run(Frame& frame, StepState* cache) const {
  auto& state = static_cast<ProgramState&>(*cache);
  PreparedProgram* p = state.cache.find(frame, inputs);
  if (p != nullptr && own_code) ask_for_own_code(*this, *p, frame);
  if (p == nullptr) p = remember_in_class(*this, state, frame);
  if (p == nullptr) p = &remember(*this, state, frame);
  if (!p->given.empty()) return give_views(*this, *p, frame);

  bind_memory(*this, state, *p, frame);
  if (p->copied) return copy_viewed(*this, frame);
  const auto& code = p->code.code;
  if (!code) return;
  scalar::Context& context = state.context;
  context.stop = &frame.run().stop;
  const scalar::Status status = code->run(context, p->operands.data(), nullptr);
  if (frame.run().trace != nullptr) [[unlikely]]
    frame.run().trace->note_program(context.interpreted || !code->native());
  if (status == scalar::done) [[likely]] {
    for (std::size_t j = 0; j < outputs.size(); ++j)
      if (p->outputs[j].dtype == DType::string && outputs[j] >= 0)
        frame.run().memory.count_text(frame[outputs[j]]);
    return;
  }
  frame.run().check_stop();
  throw scalar::failure(code->program(), context, status);
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
    p->workspace_bytes = workspace_of(*this, *p, values_of(frame, inputs));
    p->threads = frame.run().threads;
  }
  const kernels::SizedKernel& kernel = *p->kernel;
  for (std::size_t k = 0; k < inputs.size(); ++k)
    if (inputs[k] >= 0) p->operands[k].data = frame[inputs[k]].tensor().data();
  for (std::size_t j = 0; j < outputs.size(); ++j)
    if (outputs[j] >= 0)
      p->operands[kernel.inputs() + j].data = frame.fresh_output(outputs[j], p->outputs[j]).data();
  if (p->workspace_bytes > 0) {
    const Tensor& workspace = state.workspace.of(p->workspace_bytes, frame.run());
    p->operands.back() = {workspace.data(), workspace.shape().data(), workspace.strides().data()};
  }
  scalar::Context& context = state.context;
  context.stop = &frame.run().stop;
  const scalar::Status status = frame.run().memory.checked()
                                    ? run_guarded(*this, *p, context)
                                    : kernels::SizedKernel::call(context, p->operands, &kernel);
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
    frame.fresh_output(outputs[j], *(*types)[j]);
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

}  // namespace rondel::runtime
