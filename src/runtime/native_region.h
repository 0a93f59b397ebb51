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
  std::vector<Slot> finals;  ///< -1: not read
};

/// Slots of the frame that an `if` stands in.
struct IfSlots {
  std::vector<Slot> inputs, captures, outputs;
};

/// A whole loop or `if` as one program for a class of inputs, and what its buffers stand for.
struct RegionCode {
  /// Of each parameter of the program, in order.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;  ///< number among those of its kind
    Tensor constant;
    /// When a temporary is alive, on a scale of the program's own: those that never are at the same
    /// time share memory.
    std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  };
  std::shared_ptr<const scalar::Executable> code;
  std::vector<Binding> bindings;
  /// Of what is bound, for members of the class: one for each binding, and perhaps more. They count
  /// for states, temporaries, items and results.
  std::shared_ptr<const ClassTypes> types;
  std::vector<std::size_t> value_inputs;  ///< whose values are a part of the class
};

/// The buffers of a `RegionCode`: what it owns for the length of an entry, and where everything is.
class RegionBuffers {
 public:
  RegionBuffers(std::shared_ptr<const RegionCode>, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return code_; }
  /// That the sizes of workspaces are for.
  int threads() const { return threads_; }

  void point_at(std::size_t binding, const Tensor& t) {
    views_[binding] = {t.data(), t.shape().data(), t.strides().data()};
  }
  void point_at(std::size_t binding, void* scalar) { views_[binding] = {scalar, nullptr, nullptr}; }
  /// Memory for a parameter that nothing outside sees, beside temporaries; returns its number.
  std::size_t add_owned(std::size_t binding);
  const Tensor& owned(std::size_t number) const { return owned_[number].tensor; }
  /// Before the first run, and again for other types: of what is owned, by binding.
  void set_types(const OutputTypes&);

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
    DType dtype = DType::u8;
    Shape shape = {};
    std::size_t first, last;
    Tensor tensor = {};
  };
  void assign_offsets();

  std::shared_ptr<const RegionCode> code_;
  const int threads_;
  std::vector<Owned> owned_;
  Layout layout_;         ///< of `owned_`
  ArenaOffsets offsets_;  ///< likewise
  Tensor arena_;
  bool bound_ = false;  ///< `owned_` has memory
  scalar::Context context_;
  std::vector<scalar::View> views_;  ///< by binding
};

/// A native loop with its buffers. An entry into the loop only asks where its inputs are, copies
/// the states that it writes, and runs: nothing is looked up or allocated but what leaves the loop.
class NativeLoop {
 public:
  NativeLoop(std::shared_ptr<const RegionCode>, const LoopSlots&, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return buffers_.code(); }
  /// For inputs such as the frame holds; the code's types of what is bound.
  void set_types(const OutputTypes&, Frame&);
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
    std::size_t own = 0;  ///< the buffers' own memory for it, where nobody asks for the final
    OutputForm type = {};
    bool row_major = false;  ///< what it starts from is
  };
  struct Invariant {
    Slot initial, final;
  };
  struct ItemStack {
    std::size_t binding, stack;
    DType dtype = DType::f32;
    Shape item = {};
    Tensor rows = {};  ///< that may be written now
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
  NativeIf(std::shared_ptr<const RegionCode>, const IfSlots&, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return buffers_.code(); }
  void set_types(const OutputTypes&, Frame&);
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
    OutputForm type = {};
  };
  RegionBuffers buffers_;
  std::vector<Input> inputs_;
  std::vector<Result> results_;
};

/// What a step has entered natively, by the shapes of its inputs. `Native`: NativeLoop or NativeIf.
template <class Native> struct NativeCache {
  MruCache<std::unique_ptr<Native>> by_shapes;  ///< null: step by step
  std::vector<const Tensor*> inputs;            ///< while one is prepared, as what follows
  OutputTypes types;

  void release() {
    by_shapes.each([](const auto& native) {
      if (native) native->release();
    });
  }
};

/// Where a step gets native code from.
struct NativeSource {
  struct Answer {
    std::shared_ptr<const RegionCode> code;  ///< null: these inputs run step by step
    OutputTypes types = {};                  ///< the code's, for these inputs
  };
  /// For these inputs, then captures; nothing: this time they run step by step, and it is asked
  /// again. Asked where neither the shapes, contiguity and values of `value_inputs` are those of
  /// one of the last few runs, nor their class. Empty: never.
  std::function<std::optional<Answer>(std::span<const Value> outer)> code;
  std::vector<std::size_t> value_inputs;

  /// What runs natively what is in these slots, or null.
  template <class Native, class Slots>
  Native* find(NativeCache<Native>& cache, std::span<const Slot> outer, const Slots& slots,
               Frame& frame) const {
    if (!code) return nullptr;
    const auto* found = cache.by_shapes.find(frame, outer);
    const int threads = frame.run().threads;
    if (found != nullptr && (*found == nullptr || (*found)->threads() == threads))
      return found->get();
    const kernels::ThreadScope scope(threads);
    if (const auto of_class = class_of(cache, outer, frame))
      return prepare(cache, of_class, cache.types, outer, slots, frame);
    const std::optional<Answer> made = code(values_of(frame, outer));
    return made ? prepare(cache, made->code, made->types, outer, slots, frame) : nullptr;
  }

 private:
  /// Code that is in use and serves these inputs, whose types go to `cache.types`.
  template <class Native>
  static std::shared_ptr<const RegionCode> class_of(NativeCache<Native>& cache,
                                                    std::span<const Slot> outer, Frame& frame) {
    read_tensors(frame, outer, cache.inputs);
    std::shared_ptr<const RegionCode> found, refused;
    cache.by_shapes.each([&](const auto& native) {
      if (found || !native || native->code() == refused) return;
      refused = native->code();
      if (refused->types->evaluate(cache.inputs, cache.types)) found = refused;
    });
    return found;
  }

  /// `types`: the code's, for what is in these slots.
  template <class Native, class Slots>
  Native* prepare(NativeCache<Native>& cache, const std::shared_ptr<const RegionCode>& of_class,
                  const OutputTypes& types, std::span<const Slot> outer, const Slots& slots,
                  Frame& frame) const {
    const auto serves = [&](const std::unique_ptr<Native>& native) {
      return native && native->code() == of_class && native->threads() == frame.run().threads;
    };
    auto& [keys, native] = cache.by_shapes.reuse(serves);
    if (!of_class) native.reset();
    else if (!serves(native)) native = std::make_unique<Native>(of_class, slots, frame.run());
    if (native) native->set_types(types, frame);
    keys.set(frame, outer, of_class ? of_class->value_inputs : value_inputs, Strides::contiguity);
    return native.get();
  }
};

}  // namespace rondel::runtime
