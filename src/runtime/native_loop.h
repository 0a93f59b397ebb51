#pragma once
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

/// A whole loop as one program for the extents at hand, and what its buffers stand for.
struct LoopCode {
  /// Of each parameter of the program, in order.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;     ///< state, capture, scan or stack number
    DType dtype = DType::f32;  ///< of a temporary, or of an item
    Shape shape;               ///< likewise
    Tensor constant;
    /// When a temporary is alive, on a scale of the program's own: those that never are at the same
    /// time share memory.
    std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  };
  std::shared_ptr<const scalar::Executable> code;
  std::vector<Binding> bindings;
};

/// A `LoopCode` with its buffers. Made once for the shapes of a loop's inputs; an entry into the
/// loop then only asks where they are, copies the states that it writes, and runs: nothing is
/// looked up or allocated but what leaves the loop.
class NativeLoop {
 public:
  /// The frame holds inputs of those shapes.
  NativeLoop(std::shared_ptr<const LoopCode>, const LoopSlots&, Frame&);

  struct Outcome {
    std::int64_t trips;
    bool go;  ///< as the body gave it last
  };
  /// Finals go to their slots of the frame, items to `stacks`, which have been begun. At least one
  /// trip is to be made. Stops at the run's budget of trips.
  Outcome run(Frame&, const LoopStart&, std::span<Stack> stacks);
  void release();
  /// That the sizes of workspaces are for.
  int threads() const { return threads_; }

 private:
  struct Input {
    std::size_t binding;
    Slot slot;
  };
  struct State {
    std::size_t binding;
    Slot initial, final;
    std::size_t own;  ///< in `owned_`, where nobody asks for the final value
  };
  struct ItemStack {
    std::size_t binding, stack;
    Tensor rows;  ///< that may be written now
  };
  /// Memory for the length of an entry, that nothing outside sees.
  struct Owned {
    std::optional<std::size_t> binding;  ///< none: the program's workspace
    DType dtype;
    Shape shape;
    std::size_t first, last;
    Tensor tensor = {};
  };

  void see(std::size_t binding, const Tensor& t) {
    views_[binding] = {t.data(), t.shape().data(), t.strides().data()};
  }
  void own(std::optional<std::size_t> binding, DType, Shape, std::size_t first, std::size_t last);
  void bind(Frame&, const LoopStart&);
  void bind_owned(Run&);

  std::shared_ptr<const LoopCode> code_;
  std::vector<Input> inputs_;
  std::vector<State> states_;
  std::vector<ItemStack> stacks_;
  std::vector<Owned> owned_;
  Places places_;  ///< of `owned_`
  Tensor arena_;
  bool bound_ = false;  ///< `owned_` has memory
  const int threads_;
  std::uint8_t go_ = 0;
  std::int64_t stopped_ = 0;
  void* workspace_ = nullptr;
  std::vector<scalar::View> views_;  ///< by binding
};

}  // namespace rondel::runtime
