#pragma once
#include "kernels/kernel_call.h"
#include "runtime/layout.h"
#include "runtime/memory.h"
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

/// What runs: flat lists of steps over numbered slots. A plan knows no graph, no op and no name;
/// what a step needs of those came along as closures when the session built it.
namespace rondel::runtime {

/// What ends a run early; the value of `Run::stop`.
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
  /// Of the run's memory, likewise.
  Tensor zeros(DType, Shape) const;
};

class Frame;

/// What a step remembers between runs of one frame.
struct StepState {
  virtual ~StepState() = default;
};

class Step {
 public:
  virtual ~Step() = default;
  virtual std::unique_ptr<StepState> make_state() const { return nullptr; }
  virtual void run(Frame&, StepState*) const = 0;

  std::string source;  ///< how errors name it
  std::vector<Slot> inputs, outputs;
  std::vector<Slot> release;  ///< slots that nobody reads after this step
};

/// A region, ready to run: a model, a loop's body, a branch.
struct Plan {
  std::size_t slot_count = 0;
  std::vector<Slot> params, results;
  Slot seed = -1;  ///< of a model that draws: u64[]
  /// Values of the enclosing frame that this region reads: theirs, ours.
  std::vector<std::pair<Slot, Slot>> captures;
  std::vector<std::pair<Slot, Tensor>> constants;
  std::vector<std::unique_ptr<Step>> steps;
  Layout layout;

  /// Frames that are free; a run takes one and gives it back.
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
  explicit Frame(const Plan&);
  Value& operator[](Slot s) { return slots_[static_cast<std::size_t>(s)]; }
  Run& run() const { return *run_; }
  const Plan& plan() const { return plan_; }
  /// A tensor for `slot`: in the arena where it has a place there, else a block.
  Tensor allocate(Slot slot, DType, const Shape&);
  /// Runs every step.
  void execute();

 private:
  friend struct Plan;
  void lay_out();
  const Plan& plan_;
  Run* run_ = nullptr;
  std::vector<Value> slots_;
  std::vector<std::unique_ptr<StepState>> states_;
  std::vector<std::int64_t> extents_;  ///< that `places_` are for
  Places places_;
  Tensor arena_;
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

/// Runs a scalar program. `types` (which checks the inputs) and `code` are asked again whenever
/// shapes, contiguity, or the values of `value_inputs` differ from the last time; `code` only where
/// no view does.
class ProgramStep : public Step {
 public:
  using Types = std::function<OutputTypes(std::span<const Value> inputs)>;
  using Code =
      std::function<std::shared_ptr<const scalar::Executable>(std::span<const Value> inputs)>;
  /// Views of the inputs that are the outputs, where strides allow it.
  using View = std::function<std::optional<std::vector<Tensor>>(
      std::span<const Value> inputs, std::span<const std::pair<DType, Shape>> outputs)>;
  Types types;
  Code code;
  std::vector<std::size_t> value_inputs;
  View view;
  bool checks_always = false;  ///< the program may fail even where it gives no elements

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs a kernel. `check` checks the inputs and gives the output types that it can tell; it is
/// asked again whenever shapes or the values of `value_inputs` differ from the last time (of a
/// sequence or an optional the declared type counts). The kernel makes the other outputs itself.
class KernelStep : public Step {
 public:
  using Types = std::vector<std::optional<std::pair<DType, Shape>>>;
  std::function<Types(std::span<const Value> inputs)> check;
  std::vector<std::size_t> value_inputs;
  kernels::Kernel kernel;
  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;
};

/// Runs the plan that the condition chooses; the other is not touched.
class IfStep : public Step {
 public:
  Plan then, otherwise;
  void run(Frame&, StepState*) const override;
};

/// Reads the only element of a tensor; `what` names it in the error.
std::int64_t read_scalar_i64(const Value&, std::string_view what);
bool read_scalar_bool(const Value&, std::string_view what);

/// Copies captured values from the enclosing frame.
void bind_captures(const Plan&, Frame& from, Frame& to);

}  // namespace rondel::runtime
