#include "compile/dry_run.h"

#include "base/error.h"
#include "codegen/compiler.h"
#include "ir/infer.h"
#include "lowering/lower.h"
#include "runtime/append.h"
#include "runtime/branch.h"
#include "runtime/late_plan.h"
#include "runtime/loop.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>

namespace rondel::compile {
namespace {

using ir::ValueId;
using runtime::Frame;
using runtime::Plan;
using runtime::Slot;
using runtime::Step;

/// Steps with at most so many elements are executed, if all that they read is known.
constexpr std::int64_t most_computed = std::int64_t{1} << 16;

constexpr const char* late_shapes =
    "the shapes of what it reads are known only when the model runs";

/// Whether the program reads elements of one of its first buffers that `known` does not name.
bool reads_unknown(const scalar::Program& p, const std::vector<bool>& known) {
  const auto unknown = [&](std::int32_t buffer) {
    return buffer >= 0 && static_cast<std::size_t>(buffer) < known.size() &&
           !known[static_cast<std::size_t>(buffer)];
  };
  for (const scalar::Inst& inst : p.code)
    if (inst.op == scalar::Op::load && unknown(inst.id)) return true;
  for (const scalar::Call& call : p.calls)
    for (const auto& view : call.views)
      if (unknown(view.buffer)) return true;
  return std::ranges::any_of(
      p.contracts, [&](const scalar::Contract& c) { return unknown(c.a) || unknown(c.b); });
}

/// The slots that the native code of a loop or an `if` reads, in its order.
std::vector<Slot> outer_slots(const Step& step) {
  std::vector<Slot> outer = step.inputs;
  if (const auto* loop = dynamic_cast<const runtime::LoopStep*>(&step))
    for (const auto& [theirs, ours] : loop->body.captures) outer.push_back(theirs);
  if (const auto* branch = dynamic_cast<const runtime::IfStep*>(&step))
    outer.insert(outer.end(), branch->captures.begin(), branch->captures.end());
  return outer;
}

/// One dry run. Each plan has a frame with made-up values in its slots; a slot without a value
/// holds something that is not known before a run.
class DryRun {
 public:
  DryRun(const BuildContext& b, std::vector<NotCompiled>& found)
      : b_(b), g_(*b.graph), found_(found) {}

  void run(const Plan& plan, std::span<const Value> inputs) {
    Frame frame(plan, false);
    frame.begin(run_);
    std::vector<bool> known(plan.slot_count);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      frame.set(plan.params[i], inputs[i]);
      name_extents(g_.value(g_.root().params[param_of(i)]).type, inputs[i]);
    }
    if (plan.seed >= 0) frame.set(plan.seed, Tensor::scalar<std::uint64_t>(0));
    walk({plan, frame, known});
  }

 private:
  struct Place {
    const Plan& plan;
    Frame& frame;
    std::vector<bool>& known;  ///< by slot: whether the elements are those of every run
    bool computes = false;     ///< whether steps can be executed in the frame
  };

  /// The number of the i-th parameter that is no seed.
  std::size_t param_of(std::size_t i) const {
    const auto& params = g_.root().params;
    for (std::size_t p = 0; p < params.size(); ++p)
      if (!g_.roles.contains(params[p]) && i-- == 0) return p;
    broken_invariant("a dry run has more inputs than the graph");
  }

  void report(const Step& step, std::string why, bool late = false) {
    found_.push_back({step.source, std::move(why), late});
  }

  void name_extents(const ir::Type& declared, const Value& v) {
    if (!declared.is_tensor() || !declared.has_rank() || !v.is_tensor()) return;
    for (std::int64_t a = 0; a < declared.rank(); ++a)
      if (declared.extent(a).symbolic())
        extents_.try_emplace(declared.extent(a).symbol,
                             v.tensor().shape()[static_cast<std::size_t>(a)]);
  }

  /// An extent that nothing else has: programs must not take it for another one, nor for 1.
  std::int64_t made_up() { return next_extent_ += 2; }

  std::int64_t sample(const ir::Extent& e) {
    if (e.known()) return e.value;
    if (!e.symbolic()) return made_up();
    const auto [it, fresh] = extents_.try_emplace(e.symbol, 0);
    if (fresh) it->second = made_up();
    return it->second;
  }

  /// A tensor of zeros of this type: what data decide is found as for these. Undefined if its rank
  /// is not known, if it is not a tensor, or if it is too large.
  Value sample(const ir::Type& t) {
    if (!t.is_tensor() || !t.has_rank()) return Value();
    Shape shape;
    for (const ir::Extent& e : t.extents()) shape.push_back(sample(e));
    return sample(t.dtype(), std::move(shape));
  }
  /// Undefined if no memory holds so many elements: these shapes do not come this way.
  static Value sample(DType dtype, Shape shape) {
    try {
      return Tensor::zeros(dtype, std::move(shape));
    } catch (const Error&) { return Value(); }
  }

  void walk(Place at) {
    for (const auto& [slot, tensor] : at.plan.constants)
      at.known[static_cast<std::size_t>(slot)] = true;
    const auto given = [&](const runtime::Layout::Symbol& s) {
      return at.frame[s.slot].is_tensor();
    };
    at.computes = std::ranges::all_of(at.plan.layout.symbols, given);
    if (at.computes) at.frame.begin_steps();
    for (std::size_t s = 0; s < at.plan.steps.size(); ++s) {
      const Step& step = *at.plan.steps[s];
      if (const auto* loop = dynamic_cast<const runtime::LoopStep*>(&step)) visit(*loop, at);
      else if (const auto* branch = dynamic_cast<const runtime::IfStep*>(&step)) visit(*branch, at);
      else visit_simple(step, s, at);
    }
  }

  static bool is_missing(const Place& at, Slot s) { return s >= 0 && !at.frame[s].defined(); }
  bool is_known(const Place& at, std::span<const Slot> slots) const {
    return std::ranges::all_of(
        slots, [&](Slot s) { return s < 0 || at.known[static_cast<std::size_t>(s)]; });
  }

  struct OutputTypes {
    std::vector<ir::Type> types;
    bool hold = true;  ///< whether the rules of the step's ops do, for the values in the frame
  };

  /// The types of a step's outputs, as far as they follow from the values in the frame.
  OutputTypes output_types(const Step& step, const Place& at) {
    const StepOrigin& origin = b_.origins->at(&step);
    const std::vector<ValueId>& outer = origin.inputs;
    const std::vector<Slot> slots = outer_slots(step);
    ir::TypeEnvironment k = ir::environment_around(g_, origin.nodes.back());
    for (std::size_t i = 0; i < slots.size(); ++i) {
      if (outer[i] == ValueId::none || slots[i] < 0 || !at.frame[slots[i]].is_tensor()) continue;
      const Tensor& t = at.frame[slots[i]].tensor();
      k.types[ir::index(outer[i])] = ir::Type::tensor(t.dtype(), t.shape());
      if (at.known[static_cast<std::size_t>(slots[i])] && t.size() <= 64)
        k.values[static_cast<std::int32_t>(outer[i])] = t;
    }
    OutputTypes found;
    std::vector<ir::Type>& types = found.types;
    for (const ValueId v : origin.outputs)
      types.push_back(v == ValueId::none ? ir::Type() : g_.value(v).type);
    try {
      for (const ir::NodeId n : origin.nodes) ir::infer_node(g_, n, k);
    } catch (const Error&) {  // the run's shapes may be others
      found.hold = false;
      return found;
    }
    for (std::size_t j = 0; j < types.size(); ++j)
      if (origin.outputs[j] != ValueId::none)
        types[j] = ir::completed(types[j], k.types[ir::index(origin.outputs[j])]);
    return found;
  }

  void make_up_outputs(const Step& step, const Place& at) {
    const std::vector<ir::Type> types = output_types(step, at).types;
    for (std::size_t j = 0; j < types.size(); ++j)
      if (step.outputs[j] >= 0) set(at, step.outputs[j], sample(types[j]), false);
  }

  static void set(const Place& at, Slot s, Value v, bool known) {
    at.frame.set(s, std::move(v));
    at.known[static_cast<std::size_t>(s)] = known;
  }

  /// The output that is a copy of an input, whatever the strides of the latter.
  static std::optional<std::vector<Tensor>> view_of_copy(const runtime::ProgramStep& step,
                                                         std::vector<Value> inputs,
                                                         const runtime::OutputTypes& types) {
    Value& viewed = inputs[static_cast<std::size_t>(step.viewed)];
    viewed = viewed.tensor().packed();
    return step.view(inputs, types);
  }

  /// Kernels are C++: they are compiled, whatever their shapes are.
  static bool is_kernel(const Step& step) {
    return dynamic_cast<const runtime::KernelStep*>(&step) != nullptr ||
           dynamic_cast<const runtime::UnsizedKernelStep*>(&step) != nullptr;
  }

  /// A group, a kernel, or a state that is appended to.
  void visit_simple(const Step& step, std::size_t number, const Place& at) {
    if (std::ranges::any_of(step.inputs, [&](Slot s) { return is_missing(at, s); })) {
      if (!is_kernel(step)) report(step, late_shapes, true);
      return make_up_outputs(step, at);
    }
    try {
      if (const auto* p = dynamic_cast<const runtime::ProgramStep*>(&step))
        return visit(*p, number, at);
      if (const auto* a = dynamic_cast<const runtime::AppendStep*>(&step))
        return visit(*a->join, std::nullopt, at);
      if (dynamic_cast<const runtime::LatePlanStep*>(&step) != nullptr) {
        report(step, "the model does not say what ranks its inputs have");
        return make_up_outputs(step, at);
      }
      visit_kernel(step, number, at);
    } catch (const Error& e) {
      if (e.blame() == Blame::internal) throw;
      report(step, e.message(), e.blame() == Blame::caller);
      make_up_outputs(step, at);
    }
  }

  void visit(const runtime::ProgramStep& step, std::optional<std::size_t> number, const Place& at) {
    const std::vector<Value> inputs = runtime::values_of(at.frame, step.inputs);
    std::vector<bool> known;
    for (const Slot s : step.inputs)
      known.push_back(s < 0 || at.known[static_cast<std::size_t>(s)]);
    const bool types_known = std::ranges::all_of(
        step.value_inputs, [&](std::size_t k) { return k >= known.size() || known[k]; });
    if (!types_known) return visit_with_unknown_types(step, inputs, at);
    const runtime::OutputTypes types = step.types(inputs);
    std::int64_t elements = 0;
    for (const auto& [dtype, shape] : types) elements += element_count(shape);
    auto views = step.view ? step.view(inputs, types) : std::nullopt;
    if (!views && step.keeps_order) views = view_of_copy(step, inputs, types);
    if (views) {
      for (std::size_t j = 0; j < views->size(); ++j)
        set(at, step.outputs[j], (*views)[j], std::ranges::count(known, false) == 0);
      return;
    }
    const auto code = step.code(inputs, step.dying);
    if (number && at.computes && elements <= most_computed &&
        !reads_unknown(code->program(), known)) {
      at.frame.execute(*number, *number + 1);
      for (const Slot s : step.outputs)
        if (s >= 0) at.known[static_cast<std::size_t>(s)] = true;
      return;
    }
    for (std::size_t j = 0; j < types.size(); ++j)
      if (step.outputs[j] >= 0)
        set(at, step.outputs[j], sample(types[j].first, types[j].second), false);
  }

  /// Data decide a value on which the types depend: the code may be that of another class.
  void visit_with_unknown_types(const runtime::ProgramStep& step, std::span<const Value> inputs,
                                const Place& at) {
    try {
      step.code(inputs, step.dying);
    } catch (const Error& e) {
      if (e.blame() == Blame::internal) throw;
      report(step, "its code depends on values that are known only when the model runs", true);
    }
    make_up_outputs(step, at);
  }

  /// Kernels are compiled already; some of their outputs have sizes that data decide.
  void visit_kernel(const Step& step, std::size_t number, const Place& at) {
    if (at.computes && is_known(at, step.inputs)) {
      at.frame.execute(number, number + 1);
      for (const Slot s : step.outputs)
        if (s >= 0) at.known[static_cast<std::size_t>(s)] = true;
      return;
    }
    make_up_outputs(step, at);
  }

  // ---- loops and branches

  /// Whether the node runs as a whole for these values.
  bool has_native_code(const runtime::NativeSource& native, std::span<const Value> outer) {
    if (!native.code) return false;
    auto answer = native.code(outer);
    if (!answer) answer = native.code(outer);  // exact shapes that come again
    return answer && answer->code;
  }

  /// Reports why the node runs step by step.
  void report_steps(const Step& step, const Place& at) {
    constexpr std::string_view by_steps = "step by step: ";
    std::string how = late_shapes;
    if (b_.log) {
      const auto all = b_.log->all();
      if (const auto it = all.find(step.source); it != all.end()) how = it->second;
    }
    if (how.starts_with(by_steps)) how = how.substr(by_steps.size());
    report(step, "runs step by step: " + how, !output_types(step, at).hold);
  }

  void visit(const runtime::LoopStep& step, const Place& at) {
    const std::vector<Slot> slots = outer_slots(step);
    const std::vector<Value> outer = runtime::values_of(at.frame, slots);
    if (has_native_code(step.native, outer)) return make_up_outputs(step, at);
    report_steps(step, at);
    std::vector<Value> states = initial_states(step, at);
    enter_body(step, at, states);
    // A later trip, if shapes changed in the first one.
    enter_body(step, at, states);
    make_up_outputs(step, at);
  }

  static std::size_t first_state(const runtime::LoopStep& step) {
    return (step.spec.has_trips ? 1U : 0U) + (step.spec.has_go ? 1U : 0U);
  }
  static std::vector<Value> initial_states(const runtime::LoopStep& step, const Place& at) {
    std::vector<Value> states;
    for (std::size_t j = 0; j < step.spec.states; ++j)
      states.push_back(at.frame[step.inputs[first_state(step) + j]]);
    return states;
  }

  /// Walks the body for one trip, and replaces the states by the next ones.
  void enter_body(const runtime::LoopStep& step, const Place& at, std::vector<Value>& states) {
    const Plan& body = step.body;
    Frame frame(body, true);
    std::vector<bool> known(body.slot_count);
    enter(body, at, frame, known);
    const auto param = [&](std::size_t k, Value v) {
      if (body.params[k] >= 0) frame.set(body.params[k], std::move(v));
    };
    param(0, Tensor::scalar<std::int64_t>(0));
    param(1, Tensor::scalar<bool>(true));
    for (std::size_t j = 0; j < states.size(); ++j) param(2 + j, states[j]);
    for (std::size_t j = 0; j < step.spec.scans; ++j) {
      const Value& whole = at.frame[step.inputs[first_state(step) + states.size() + j]];
      param(2 + states.size() + j, slice(whole, step.spec.axis_in[j]));
    }
    walk({body, frame, known});
    for (std::size_t j = 0; j < states.size(); ++j)
      if (const Slot s = body.results[1 + j]; s >= 0) states[j] = frame[s];
  }

  static Value slice(const Value& whole, std::int64_t axis) {
    if (!whole.is_tensor()) return Value();
    const Tensor& t = whole.tensor();
    if (axis < 0) axis += t.rank();
    if (axis < 0 || axis >= t.rank()) return Value();
    Shape shape = t.shape(), strides = t.strides();
    shape.erase(shape.begin() + axis);
    strides.erase(strides.begin() + axis);
    return t.strided(0, std::move(shape), std::move(strides));
  }

  void enter(const Plan& inner, const Place& at, Frame& frame, std::vector<bool>& known) {
    frame.begin(run_);
    for (const auto& [theirs, ours] : inner.captures) {
      frame.borrow(ours, at.frame, theirs);
      known[static_cast<std::size_t>(ours)] = at.known[static_cast<std::size_t>(theirs)];
    }
  }

  void visit(const runtime::IfStep& step, const Place& at) {
    const std::vector<Slot> slots = outer_slots(step);
    std::vector<Value> outer = runtime::values_of(at.frame, slots);
    bool whole = true;
    if (!outer[0].is_tensor() || is_known(at, std::span(slots).first(1))) {
      whole = has_native_code(step.native, outer);
    } else {
      for (const bool taken : {true, false}) {
        const Tensor condition(DType::boolean, outer[0].tensor().shape());
        std::ranges::fill(
            std::span(condition.data_as<bool>(), static_cast<std::size_t>(condition.size())),
            taken);
        outer[0] = condition;
        whole = has_native_code(step.native, outer) && whole;
      }
    }
    if (!whole) {
      report_steps(step, at);
      for (const Plan* plan : {&step.then, &step.otherwise}) {
        Frame frame(*plan, true);
        std::vector<bool> known(plan->slot_count);
        enter(*plan, at, frame, known);
        walk({*plan, frame, known});
      }
    }
    make_up_outputs(step, at);
  }

  const BuildContext& b_;
  const ir::Graph& g_;
  std::vector<NotCompiled>& found_;
  std::map<ir::Symbol, std::int64_t> extents_;
  std::int64_t next_extent_ = 9;
  runtime::Memory memory_{std::numeric_limits<std::size_t>::max()};
  runtime::Run run_{memory_, std::numeric_limits<std::int64_t>::max()};
};

}  // namespace

std::shared_ptr<const scalar::Executable> RecordingCompiler::make(
    std::shared_ptr<const scalar::Program> program) {
  const std::string refusal = codegen::Compiler::refusal(*program);
  const scalar::CodeKey key = scalar::code_key(*program);
  const std::lock_guard lock(mutex_);
  if (!refusal.empty()) {
    refused_.emplace(program->name, refusal);
    return scalar::interpret(std::move(program));
  }
  const auto [begin, end] = known_.equal_range(key);
  const auto content = scalar::code_content(*program);
  const bool is_known = std::any_of(
      begin, end, [&](const auto& k) { return scalar::code_content(*k.second) == content; });
  if (!is_known) {
    known_.emplace(key, program.get());
    programs_.push_back(program);
  }
  return scalar::interpret(std::move(program));
}

std::vector<NotCompiled> dry_run(const BuildContext& b, const Plan& plan,
                                 std::span<const Value> inputs) {
  std::vector<NotCompiled> found;
  DryRun(b, found).run(plan, inputs);
  std::ranges::sort(found);
  const auto repeated = std::ranges::unique(found);
  found.erase(repeated.begin(), repeated.end());
  return found;
}

}  // namespace rondel::compile
