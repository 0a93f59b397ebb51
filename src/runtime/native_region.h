#pragma once
#include "kernels/threads.h"
#include "runtime/plan.h"
#include "scalar/loop_binding.h"

#include <limits>
#include <optional>

namespace rondel::runtime {

class Stack;

/// What a run of a loop starts from, read from its inputs and checked.
struct LoopStart {
  std::optional<std::int64_t> trips;  ///< the most trips: `trips`, or the least scan extent
  bool go = true;
  bool conditional = false;  ///< `go` decides after each trip
  bool certain = false;      ///< `trips` is the number made
  std::vector<std::int64_t> scan_extents;
  std::vector<std::optional<std::int64_t>> extents;
};

/// Slots of the frame that a loop stands in.
struct LoopSlots {
  std::vector<Slot> states, scans, captures;
  std::vector<Slot> finals;  ///< -1 where nobody asks
};

/// Slots of the frame that an `if` stands in.
struct IfSlots {
  std::vector<Slot> inputs, captures, outputs;
};

/// A whole loop or `if` as one program for the extents at hand, and what its buffers stand for.
struct RegionCode {
  /// Of each parameter of the program, in order.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;     ///< number among those of its kind
    DType dtype = DType::f32;  ///< of a temporary, an item or a result
    Shape shape;               ///< likewise
    Tensor constant;
    /// When a temporary is alive, on a scale of the program's own: those that never are at the same
    /// time share memory.
    std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  };
  std::shared_ptr<const scalar::Executable> code;
  std::vector<Binding> bindings;
};

/// The buffers of a `RegionCode`: what it owns for the length of an entry, and where everything is.
class RegionBuffers {
 public:
  RegionBuffers(std::shared_ptr<const RegionCode>, Run&);
  const RegionCode& code() const { return *code_; }
  /// That the sizes of workspaces are for.
  int threads() const { return threads_; }

  void see(std::size_t binding, const Tensor& t) {
    views_[binding] = {t.data(), t.shape().data(), t.strides().data()};
  }
  void see(std::size_t binding, void* scalar) { views_[binding] = {scalar, nullptr, nullptr}; }
  /// Memory of a type for a parameter that nothing outside sees; returns its number.
  std::size_t own(std::size_t binding, DType, Shape);
  const Tensor& owned(std::size_t number) const { return owned_[number].tensor; }
  /// After the last `own`.
  void assign_offsets();

  /// Before a run: everything owned has memory.
  void bind(Run&);
  /// Runs the program with these integer parameters. Throws what its checks say.
  void run(Run&, std::span<const std::int64_t> params);
  /// After an entry: lets go of what is too large to be kept.
  void drop_large_memory();
  void release();

 private:
  struct Owned {
    std::optional<std::size_t> binding;  ///< none: the program's workspace
    DType dtype;
    Shape shape;
    std::size_t first, last;
    Tensor tensor = {};
  };

  std::shared_ptr<const RegionCode> code_;
  const int threads_;
  std::vector<Owned> owned_;
  ArenaOffsets offsets_;  ///< of `owned_`
  Tensor arena_;
  bool bound_ = false;  ///< `owned_` has memory
  scalar::Context context_;
  std::vector<scalar::View> views_;  ///< by binding
};

/// A native loop with its buffers. Made once for the shapes of a loop's inputs; an entry into the
/// loop then only asks where they are, copies the states that it writes, and runs: nothing is
/// looked up or allocated but what leaves the loop.
class NativeLoop {
 public:
  /// The frame holds inputs of those shapes.
  NativeLoop(std::shared_ptr<const RegionCode>, const LoopSlots&, Frame&);
  int threads() const { return buffers_.threads(); }

  struct Outcome {
    std::int64_t trips;
    bool go;  ///< as the body gave it last
  };
  /// Finals go to their slots of the frame, items to `stacks`, which have been begun. At least one
  /// trip is to be made. Stops at the run's budget of trips.
  Outcome run(Frame&, const LoopStart&, std::span<Stack> stacks);
  void release();

 private:
  struct Input {
    std::size_t binding;
    Slot slot;
  };
  struct State {
    std::size_t binding;
    Slot initial, final;
    OutputForm type;
    bool row_major;   ///< what it starts from is
    std::size_t own;  ///< the buffers' own memory for it, where nobody asks for the final value
  };
  struct Invariant {
    Slot initial, final;
  };
  struct ItemStack {
    std::size_t binding, stack;
    Tensor rows;  ///< that may be written now
  };
  void bind(Frame&, const LoopStart&);
  void forward_invariants(Frame&) const;

  RegionBuffers buffers_;
  std::vector<Input> inputs_;
  std::vector<State> states_;
  std::vector<Invariant> invariants_;
  std::vector<ItemStack> stacks_;
  std::uint8_t go_ = 0;
  std::int64_t stopped_ = 0;
};

/// The same of an `if`.
class NativeIf {
 public:
  NativeIf(std::shared_ptr<const RegionCode>, const IfSlots&, Frame&);
  int threads() const { return buffers_.threads(); }
  /// Results go to their slots of the frame.
  void run(Frame&);
  void release() { buffers_.release(); }

 private:
  struct Input {
    std::size_t binding;
    Slot slot;
  };
  struct Result {
    std::size_t binding;
    Slot slot;
    OutputForm type;
  };
  RegionBuffers buffers_;
  std::vector<Input> inputs_;
  std::vector<Result> results_;
};

/// Where a step gets native code from.
struct NativeSource {
  /// For these inputs, then captures; null: they run step by step; nothing: this time they do, and
  /// it is asked again. Asked for each set of shapes, contiguity and values of `value_inputs` that
  /// the last few runs have not met. Empty: never.
  using Code = std::optional<std::shared_ptr<const RegionCode>>;
  std::function<Code(std::span<const Value> outer)> code;
  std::vector<std::size_t> value_inputs;

  /// What runs natively what is in these slots, or null. `Native`: NativeLoop or NativeIf.
  template <class Native, class Slots>
  Native* find(MruCache<std::unique_ptr<Native>>& known, std::span<const Slot> outer,
               const Slots& slots, Frame& frame) const {
    if (!code) return nullptr;
    const auto* found = known.find(frame, outer);
    const int threads = frame.run().threads;
    if (found != nullptr && (*found == nullptr || (*found)->threads() == threads))
      return found->get();
    const std::vector<Value> values = values_of(frame, outer);
    const kernels::ThreadScope scope(threads);
    Code made = code(values);
    if (!made) return nullptr;
    auto native = *made ? std::make_unique<Native>(std::move(*made), slots, frame) : nullptr;
    return known.add(InputKeys(frame, outer, value_inputs, Strides::contiguity), std::move(native))
        .prepared.get();
  }
};

}  // namespace rondel::runtime
