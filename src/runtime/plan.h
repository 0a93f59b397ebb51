#pragma once
#include "base/poison.h"
#include "kernels/kernel.h"
#include "kernels/unsized_kernel.h"
#include "runtime/content.h"
#include "runtime/layout.h"
#include "runtime/memory.h"
#include "runtime/prepared.h"
#include "runtime/run_trace.h"
#include "scalar/program.h"

#include <atomic>
#include <bit>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Plans: flat lists of steps over numbered slots. A plan has no reference to graphs, ops or names.
/// `src/compile` gives each step closures for what the step needs to know about them.
namespace rondel::runtime {

/// Why a run ends early; the value of `Run::stop`.
enum class Stop : std::int32_t { no = 0, deadline = 1, cancelled = 2, interrupted = 3 };

/// One run of a session.
struct Run {
  Memory& memory;
  std::int64_t max_trips;
  std::uint64_t seed = 0;
  int threads = 0;  ///< threads per kernel; 0: one per core
  std::atomic<std::int32_t> stop{0};
  RunTrace* trace = nullptr;       ///< null: nothing is recorded
  bool own_trips = false;          ///< `max_trips` is the run's own budget, not its session's
  bool trips_are_used_up = false;  ///< this ends the run, rather than a budget of memory
  /// Throws Error(deadline) or Error(cancelled) if `stop` is set.
  void check_stop() const {
    if (stop.load(std::memory_order_relaxed) != 0) [[unlikely]]
      end();
  }
  [[noreturn]] void end() const;
  /// What is thrown if the budget of trips is used up; sets `trips_are_used_up`.
  Error out_of_trips();
  /// to = from, of the same type. Large tensors are copied in parts, with checks of `stop` between
  /// them.
  void assign(const Tensor& from, const Tensor& to) const;
  /// Fills a row-major tensor with zeros, in parts like `assign`. Not for strings.
  void clear(const Tensor&) const;
  /// Allocates a tensor of zeros (strings: empty) from the run's memory.
  Tensor zeros(DType, Shape) const;
  /// Makes `v` a writable row-major tensor of this type. The block of `v` is reused if it has no
  /// other owner and fits the type; else a new block is allocated.
  const Tensor& renew(Value& v, DType, const Shape&) const;
};

class Frame;

/// The state of a step, kept with the frame between runs.
struct StepState {
  virtual ~StepState() = default;
  /// Called at the end of a run: drops values and blocks, but keeps what was prepared for shapes.
  virtual void release() {}
};

class Step {
 public:
  virtual ~Step() = default;
  virtual std::unique_ptr<StepState> make_state() const { return nullptr; }
  virtual void run(Frame&, StepState*) const = 0;

  std::string source;  ///< the name of the step in error messages
  std::vector<Slot> inputs, outputs;
  std::vector<Slot> release;  ///< slots that no later step reads
};

/// A region that is ready to run: a model, the body of a loop, or a branch.
struct Plan {
  std::size_t slot_count = 0;
  std::vector<Slot> params, results;
  Slot seed = -1;  ///< the random seed (u64[]) of a model with random ops; -1: none
  /// Per result: whether it may be moved out of its slot. True if a step of this plan computes it
  /// and no other result has the same slot.
  std::vector<bool> movable;
  /// Values of the enclosing frame that this region reads, as (outer slot, inner slot).
  std::vector<std::pair<Slot, Slot>> captures;
  std::vector<std::pair<Slot, Tensor>> constants;
  std::vector<std::unique_ptr<Step>> steps;
  Layout layout;

  /// Takes a free frame from the plan's pool, or creates one.
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
  /// `entered_again`: the frame is entered many times within one run, like the body of a loop.
  /// Small blocks of dead values then stay in their slots, and the next entry overwrites them.
  explicit Frame(const Plan&, bool entered_again);
  const Value& operator[](Slot s) const { return content(s).value(); }
  Content& content(Slot s) const { return *slots_[static_cast<std::size_t>(s)]; }
  void set(Slot s, Value v) { content(s).set(std::move(v)); }
  Run& run() const { return *run_; }
  const Plan& plan() const { return plan_; }
  bool entered_again() const { return entered_again_; }
  void begin(Run& run) { run_ = &run, poisons_ = run.memory.checked(); }
  /// Returns a writable tensor of this type in `slot`. Its memory is the first of these that is
  /// possible: the tensor in the slot, if it has no other owner; the slot's range of the arena; a
  /// spare block; a new block.
  const Tensor& output(Slot slot, const OutputForm& type) {
    Content& c = content(slot);
    if (c.may_be_written(type.form)) [[likely]]
      return *c.tensor();
    return make_output(slot, type);
  }
  /// The same for a tensor whose elements are all to be written: in check mode it is poisoned.
  const Tensor& fresh_output(Slot slot, const OutputForm& type) {
    const Tensor& made = output(slot, type);
    if (poisons_) [[unlikely]]
      poison(type.dtype, made.data(), static_cast<std::size_t>(type.bytes));
    return made;
  }
  /// The same for a slot that has no range in the arena.
  const Tensor& renew(Slot slot, const OutputForm& type) {
    Content& c = content(slot);
    if (!c.may_be_written(type.form)) [[unlikely]]
      renew(c, type);
    return *c.tensor();
  }
  /// Called before a slot is set to a view. If only this slot owns its block and the block is
  /// small, the block becomes a spare block.
  void save_spare_block(Slot);
  /// Runs every step.
  void execute();
  /// The same in parts, for a caller that has work to do between steps. Call `begin_steps`, then
  /// `execute` for all steps in order.
  void begin_steps() { assign_arena_offsets(); }
  void execute(std::size_t first, std::size_t end);
  /// Drops a value that no later step reads.
  void drop(Slot);
  /// Called by a step that holds its own references to its inputs: clears the input slots with
  /// sequences and optionals that no later step reads. A sole owner may then modify the value in
  /// place.
  void release_sequences(const Step&);
  /// Makes slot `ours` an alias of slot `theirs` of `from` while this frame is entered. The aliased
  /// value must not change meanwhile. A value that is not a tensor is shared instead.
  void borrow(Slot ours, Frame& from, Slot theirs);
  /// Moves a result of the region to a slot of `to`, and drops the old value of that slot. A result
  /// that is not `movable` is shared.
  void move_result(std::size_t result, Frame& to, Slot);
  /// Swaps the value of a slot with a slot of `to`, then drops the value that this frame received.
  void exchange(Slot, Frame& to, Slot);
  /// Called between entries: drops every value, but keeps small blocks.
  void reset_for_reentry();
  /// Called at the end of a run: drops all values except the plan's constants, and releases the
  /// states of the steps.
  void clear();

 private:
  /// The slot's own content, which is used unless the slot is borrowed.
  Content& own(Slot s) const { return *owned_[static_cast<std::size_t>(s)]; }
  void run_step(std::size_t);
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
  bool poisons_ = false;
  std::vector<Content*> slots_;  ///< each points into `owned_`, or is borrowed
  /// Held by pointer, so that contents can be swapped between frames without moving the values.
  std::vector<std::unique_ptr<Content>> owned_;
  std::vector<Slot> variable_;  ///< slots that hold no constants
  std::vector<std::unique_ptr<StepState>> states_;
  /// For the last few lists of extents; those of this run come first.
  std::vector<std::unique_ptr<CachedOffsets>> cached_offsets_;
  std::vector<std::int64_t> extents_;  ///< the run-time extents (`Layout::symbols`) of this run
  Tensor arena_;
  std::vector<Tensor> spare_;  ///< spare blocks
};

/// Between the entries of a region within a run, blocks of at most this many bytes are kept; larger
/// ones return to the pool.
inline constexpr std::size_t most_kept_bytes = std::size_t{16} << 10;

/// The frame of a region that a step enters; kept with the step's state.
class InnerFrame {
 public:
  /// Returns a frame with its captures set. The caller sets the parameters, then executes it.
  Frame& enter(const Plan&, Frame& outer, bool again);
  void release() {
    if (frame_) frame_->clear();
  }

 private:
  std::unique_ptr<Frame> frame_;
};

/// A frame from the plan's pool, given back at the end of the scope.
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

/// A shape class of inputs, for which a step prepares once, and the output types for each of its
/// members. Immutable and thread-safe.
class ClassTypes {
 public:
  virtual ~ClassTypes() = default;
  /// Computes the output types. `inputs`: null for a value that is not a tensor. Returns false if
  /// the inputs are not members of the class, or if the step itself must check them, since it may
  /// reject them.
  virtual bool evaluate(std::span<const Tensor* const> inputs, OutputTypes&) const = 0;
};

/// When to ask for better code of shapes that come again and again: after so many runs of them, and
/// whenever the number of runs has doubled.
struct ComeAgain {
  std::uint32_t first = 0;  ///< a power of two
  bool now(std::uint32_t runs) const { return runs >= first && std::has_single_bit(runs); }
};

/// Runs a scalar program. What was prepared for the last few keys (shapes, contiguity, values of
/// `value_inputs`) is cached. For other inputs of a cached shape class, only types are computed,
/// from the class. For all other inputs, `types` checks the inputs and gives the output types; then
/// `view` makes the outputs, or, if it cannot, they are a copy (`keeps_order`), or `code` gives a
/// program.
class ProgramStep : public Step {
 public:
  using Types = std::function<OutputTypes(std::span<const Value> inputs)>;
  /// `dying`: inputs that an output may overwrite; the same in each call.
  using ExecutableFor = std::function<std::shared_ptr<const scalar::Executable>(
      std::span<const Value> inputs, std::span<const std::size_t> dying)>;
  /// Returns the outputs as views of an input, if the input's strides allow it.
  using View = std::function<std::optional<std::vector<Tensor>>(
      std::span<const Value> inputs, std::span<const std::pair<DType, Shape>> outputs)>;
  Types types;
  ExecutableFor code;
  /// Returns the shape class of these inputs, all members of which run the same code; null: none.
  std::function<std::shared_ptr<const ClassTypes>(std::span<const Value> inputs)> class_of;
  std::vector<std::size_t> value_inputs;
  /// Inputs that no later step reads. Empty in a region that is entered many times in a run, where
  /// each slot keeps its block.
  std::vector<std::size_t> dying;
  View view;
  std::ptrdiff_t viewed = -1;  ///< the input whose views `view` returns; -1: views of a constant
  bool keeps_order = false;  ///< what is no view is a copy of the viewed input, in row-major order
  bool checks_always = false;  ///< the program may fail even if its outputs have no elements
  bool can_fail = true;        ///< a check of the program, or of extents, may fail
  /// Returns code for these very shapes, which is better than that of their class; null until there
  /// is some. Empty: there never is any.
  ExecutableFor own_code = {};
  ComeAgain when = {};  ///< to call it

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs a sized kernel. `prepare` checks the inputs, and returns the output types and the kernel.
/// It is not called if the inputs' shapes and values of `value_inputs`, or their shape class, are
/// cached.
class KernelStep : public Step {
 public:
  struct Prepared {
    OutputTypes types;  ///< one per output of the node; anything for an omitted output
    std::shared_ptr<const kernels::SizedKernel> kernel;
    std::shared_ptr<const ClassTypes> of_class;  ///< the shape class with this kernel, or null
  };
  std::function<Prepared(std::span<const Value> inputs)> prepare;
  std::vector<std::size_t> value_inputs;
  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs an unsized kernel. `check` checks the inputs, and returns the type of each output whose
/// type is known before the call. The kernel makes the other outputs itself. `check` is called
/// unless the inputs' shapes and values of `value_inputs` are cached. Sequences and optionals are
/// not compared, since their declared type holds.
class UnsizedKernelStep : public Step {
 public:
  using Types = std::vector<std::optional<std::pair<DType, Shape>>>;
  std::function<Types(std::span<const Value> inputs)> check;
  std::vector<std::size_t> value_inputs;
  kernels::UnsizedKernel kernel;
  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Reads the only element of a tensor; `what` names the tensor in errors.
std::int64_t read_scalar_i64(const Value&, std::string_view what);
bool read_scalar_bool(const Value&, std::string_view what);

/// The values of slots; an undefined value for slot -1.
std::vector<Value> values_of(Frame&, std::span<const Slot>);
/// The tensors in these slots, as `ClassTypes::evaluate` takes them.
void read_tensors(Frame&, std::span<const Slot>, std::vector<const Tensor*>&);

}  // namespace rondel::runtime
