#pragma once
#include "kernels/kernel.h"
#include "kernels/unsized_kernel.h"
#include "runtime/content.h"
#include "runtime/layout.h"
#include "runtime/memory.h"
#include "runtime/prepared.h"
#include "scalar/program.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Plans: flat lists of steps over numbered slots. A plan knows no graph, no op and no name; the
/// session passes the parts of these that a step needs as closures.
namespace rondel::runtime {

/// Why a run ends early; the value of `Run::stop`.
enum class Stop : std::int32_t { no = 0, deadline = 1, cancelled = 2 };

/// One run of a session.
struct Run {
  Memory& memory;
  std::int64_t max_trips;
  std::uint64_t seed = 0;
  int threads = 0;  ///< of one kernel; 0: as many as there are cores
  std::atomic<std::int32_t> stop{0};
  /// Throws Error(deadline) or Error(cancelled) when the run is to end.
  void check_stop() const {
    if (stop.load(std::memory_order_relaxed) != 0) [[unlikely]]
      end();
  }
  [[noreturn]] void end() const;
  /// to = from, of the same type, however large: the run may be ended in between.
  void assign(const Tensor& from, const Tensor& to) const;
  /// Zeros in a row-major tensor that does not hold strings, likewise.
  void clear(const Tensor&) const;
  /// Of the run's memory, zeros (strings: empty).
  Tensor zeros(DType, Shape) const;
  /// A row-major tensor of this type in `v`, to be written: the existing one, where it has the type
  /// and no other holder; else a new block.
  const Tensor& renew(Value& v, DType, const Shape&) const;
};

class Frame;

/// The state of a step that is kept between runs of one frame.
struct StepState {
  virtual ~StepState() = default;
  /// At the end of a run: drops values and blocks. Prepared things stay.
  virtual void release() {}
};

class Step {
 public:
  virtual ~Step() = default;
  virtual std::unique_ptr<StepState> make_state() const { return nullptr; }
  virtual void run(Frame&, StepState*) const = 0;

  std::string source;  ///< how errors name it
  std::vector<Slot> inputs, outputs;
  std::vector<Slot> release;  ///< slots without readers after this step
};

/// A region, ready to run: a model, a loop's body, a branch.
struct Plan {
  std::size_t slot_count = 0;
  std::vector<Slot> params, results;
  Slot seed = -1;  ///< of a model that draws: u64[]
  /// By result: it is made by a step of this plan and is no other result, so that it may be moved
  /// out of its slot.
  std::vector<bool> movable;
  /// Values of the enclosing frame that this region reads: (outer slot, own slot).
  std::vector<std::pair<Slot, Slot>> captures;
  std::vector<std::pair<Slot, Tensor>> constants;
  std::vector<std::unique_ptr<Step>> steps;
  Layout layout;

  /// Takes a free frame from the plan's pool, or makes one.
  std::unique_ptr<Frame> take_frame(Run&) const;
  void give_back(std::unique_ptr<Frame>) const;

 private:
  struct FramePool {
    std::mutex mutex;
    std::vector<std::unique_ptr<Frame>> free;
  };
  std::shared_ptr<FramePool> pool_ = std::make_shared<FramePool>();
};

/// The values of one plan while it runs.
class Frame {
 public:
  /// `entered_again`: within a run, as a loop's body is. Then small blocks stay in the slots of
  /// dead values, so that the next entry writes over them.
  explicit Frame(const Plan&, bool entered_again);
  const Value& operator[](Slot s) const { return content(s).value(); }
  Content& content(Slot s) const { return *slots_[static_cast<std::size_t>(s)]; }
  void set(Slot s, Value v) { content(s).set(std::move(v)); }
  Run& run() const { return *run_; }
  const Plan& plan() const { return plan_; }
  bool entered_again() const { return entered_again_; }
  void begin(Run& run) { run_ = &run; }
  /// A tensor of this type in `slot`, to be written. The tensor in the slot is reused where nobody
  /// else holds it; else it is in the arena, where the slot has a range there; else it is a spare
  /// block or a new one.
  const Tensor& output(Slot slot, const OutputForm& type) {
    Content& c = content(slot);
    if (c.may_be_written(type.form)) [[likely]]
      return *c.tensor();
    return make_output(slot, type);
  }
  /// The same for a value that is not in the arena.
  const Tensor& renew(Slot slot, const OutputForm& type) {
    Content& c = content(slot);
    if (!c.may_be_written(type.form)) [[unlikely]]
      renew(c, type);
    return *c.tensor();
  }
  /// Before a view takes the slot: saves a small block that only the previous view held as a spare
  /// one.
  void save_spare_block(Slot);
  /// Runs every step.
  void execute();
  /// The same in parts, for a caller who has something to do in between: `begin_steps`, then all
  /// steps in order.
  void begin_steps() { assign_arena_offsets(); }
  void execute(std::size_t first, std::size_t end);
  /// Drops a value that has no readers left.
  void drop(Slot);
  /// For a step that has taken its inputs: releases the sequences and optionals among them that
  /// have no later readers, so that their only holder may change them in place.
  void release_sequences(const Step&);
  /// For the time that this frame is entered from `from`: a slot of ours stands for one of `from`,
  /// which stays as it is meanwhile. What is no tensor is shared instead.
  void borrow(Slot ours, Frame& from, Slot theirs);
  /// Moves a result of the region to a slot of `to`, whose old value is dropped. Where the result
  /// must stay in its own slot it is shared.
  void move_result(std::size_t result, Frame& to, Slot);
  /// Exchanges a slot's value with a slot of `to`; the value that arrives here is dropped.
  void exchange(Slot, Frame& to, Slot);
  /// Between entries: drops every value.
  void reset_for_reentry();
  /// At the end of a run: drops everything but the plan's constants.
  void clear();

 private:
  /// What the slot holds when nothing is borrowed.
  Content& own(Slot s) const { return *owned_[static_cast<std::size_t>(s)]; }
  const Tensor& make_output(Slot, const OutputForm&);
  void renew(Content&, const OutputForm&);
  void assign_arena_offsets();
  void release_arena();

  struct CachedOffsets {
    std::vector<std::int64_t> extents;
    ArenaOffsets offsets;
  };
  const Plan& plan_;
  const bool entered_again_;
  Run* run_ = nullptr;
  std::vector<Content*> slots_;  ///< in `owned_`, or borrowed
  std::vector<std::unique_ptr<Content>>
      owned_;                   ///< pointers, so that values can be exchanged without being moved
  std::vector<Slot> variable_;  ///< slots that hold no constants
  std::vector<std::unique_ptr<StepState>> states_;
  /// For the last few lists of extents; that of this run first.
  std::vector<std::unique_ptr<CachedOffsets>> cached_offsets_;
  std::vector<std::int64_t> extents_;  ///< of this run
  Tensor arena_;
  std::vector<Tensor> spare_;  ///< spare blocks
};

/// Blocks of at most this many bytes are kept between the entries of a run rather than given back.
inline constexpr std::size_t most_kept_bytes = std::size_t{16} << 10;

/// The frame of a region that a step enters; kept with the step's state.
class InnerFrame {
 public:
  /// Ready to be executed: captures are there, parameters are not.
  Frame& enter(const Plan&, Frame& outer, bool again);
  void release() {
    if (frame_) frame_->clear();
  }

 private:
  std::unique_ptr<Frame> frame_;
};

/// A frame for the length of a scope.
class FrameLease {
 public:
  FrameLease(const Plan& plan, Run& run) : plan_(plan), frame_(plan.take_frame(run)) {}
  ~FrameLease() { plan_.give_back(std::move(frame_)); }
  Frame& operator*() const { return *frame_; }
  Frame* operator->() const { return frame_.get(); }

 private:
  const Plan& plan_;
  std::unique_ptr<Frame> frame_;
};

/// The types of a step's outputs.
using OutputTypes = std::vector<std::pair<DType, Shape>>;

/// The types of a step's outputs for all inputs of a class, which share what is prepared for them
/// but for types. Immutable and thread-safe.
class ClassTypes {
 public:
  virtual ~ClassTypes() = default;
  /// `inputs`: null where one is no tensor. False: they are not of the class, or the step is to be
  /// asked for their types, since it may refuse them.
  virtual bool evaluate(std::span<const Tensor* const> inputs, OutputTypes&) const = 0;
};

/// Runs a scalar program. What was prepared for the last few kinds of inputs (their shapes,
/// contiguity and values of `value_inputs`) is used again. For other inputs of the same class,
/// types are computed from the class. For the rest, `types` checks the inputs, and `code` is asked
/// for where `view` gives nothing.
class ProgramStep : public Step {
 public:
  using Types = std::function<OutputTypes(std::span<const Value> inputs)>;
  /// `dying`: inputs that outputs may be written over; the same each time.
  using ExecutableFor = std::function<std::shared_ptr<const scalar::Executable>(
      std::span<const Value> inputs, std::span<const std::size_t> dying)>;
  /// Views of the inputs that are the outputs, where strides allow it.
  using View = std::function<std::optional<std::vector<Tensor>>(
      std::span<const Value> inputs, std::span<const std::pair<DType, Shape>> outputs)>;
  Types types;
  ExecutableFor code;
  /// The class of these inputs, which has one code; null: there is none.
  std::function<std::shared_ptr<const ClassTypes>(std::span<const Value> inputs)> class_of;
  std::vector<std::size_t> value_inputs;
  /// Inputs that no later step reads. None in a region that is entered again, where each slot
  /// keeps its block.
  std::vector<std::size_t> dying;
  View view;
  std::ptrdiff_t viewed = -1;  ///< the input that views are of; -1: a constant
  bool checks_always = false;  ///< the program may fail even where it gives no elements
  bool can_fail = true;        ///< by what it computes, or by extents that do not fit

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs a kernel on views. `prepare` checks the inputs and gives the outputs' types and the kernel.
/// It is not called for inputs such as the last few runs had (shapes, values of `value_inputs`),
/// nor for others of the same classes.
class KernelStep : public Step {
 public:
  struct Prepared {
    OutputTypes types;  ///< of all outputs of the node; those left out may be anything
    std::shared_ptr<const kernels::SizedKernel> kernel;
    std::shared_ptr<const ClassTypes> of_class;  ///< inputs for which it is the same; or null
  };
  std::function<Prepared(std::span<const Value> inputs)> prepare;
  std::vector<std::size_t> value_inputs;
  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs a kernel on whole values. `check` checks the inputs and gives the output types that it can
/// tell; it is asked for each set of shapes and values of `value_inputs` that the last few runs
/// have not met (of a sequence or an optional the declared type counts). The kernel makes the other
/// outputs itself.
class UnsizedKernelStep : public Step {
 public:
  using Types = std::vector<std::optional<std::pair<DType, Shape>>>;
  std::function<Types(std::span<const Value> inputs)> check;
  std::vector<std::size_t> value_inputs;
  kernels::UnsizedKernel kernel;
  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Reads the only element of a tensor; `what` names it in the error.
std::int64_t read_scalar_i64(const Value&, std::string_view what);
bool read_scalar_bool(const Value&, std::string_view what);

/// The values of slots; nothing where a slot is -1.
std::vector<Value> values_of(Frame&, std::span<const Slot>);
/// What is in these slots, for `ClassTypes`.
void read_tensors(Frame&, std::span<const Slot>, std::vector<const Tensor*>&);

}  // namespace rondel::runtime
