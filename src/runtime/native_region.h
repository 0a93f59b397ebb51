#pragma once
#include "kernels/threads.h"
#include "runtime/plan.h"
#include "scalar/loop_binding.h"

#include <atomic>
#include <functional>
#include <limits>
#include <optional>

namespace rondel::runtime {

class Stack;

/// The bounds of one run of a loop, read from its inputs and checked.
struct LoopStart {
  std::optional<std::int64_t> trips;  ///< maximum trip count: `trips`, or the least scan extent
  bool go = true;
  bool conditional = false;  ///< the body's `go` may end the loop after any trip
  bool certain = false;      ///< `trips` is the exact trip count
  std::vector<std::int64_t> scan_extents;
  std::vector<std::optional<std::int64_t>> extents;
};

/// A loop's slots in the enclosing frame.
struct LoopSlots {
  std::vector<Slot> outer;  ///< inputs, followed by captures
  std::vector<Slot> states, scans, captures;
  std::vector<Slot> finals;  ///< -1: the final value is not read
  std::vector<std::string> state_names;
};

/// The slots of an `if` in the enclosing frame.
struct IfSlots {
  std::vector<Slot> inputs, captures, outputs;
};

/// The types of the bound buffers of a region, for members of a shape class.
class RegionTypes : public ClassTypes {
 public:
  /// The same if a loop's states, which change their extents, have room for the first `room[0]`
  /// trips; the sizes that the program is given follow. Returns false if a size is too large.
  virtual bool evaluate_with_room(std::span<const Tensor* const> inputs,
                                  std::span<const std::int64_t> room, OutputTypes&) const = 0;
};

/// Why a loop was run again, step by step.
enum class GaveUp : std::uint8_t {
  no,
  memory,  ///< memory did not suffice for what is known of its sizes
  items,   ///< the items of a stack have different extents
  size     ///< a size that it is given does not help
};

/// How a region ran last. Runs at the same time may mix their counts. Thread-safe.
struct LastRun {
  /// Trips (of an `if`: 1), and how many of them were interpreted, before native code was there.
  std::atomic<std::int64_t> trips{0}, interpreted{0};
  std::atomic<GaveUp> gave_up{GaveUp::no};

  void begin() {
    trips.store(0, std::memory_order_relaxed);
    interpreted.store(0, std::memory_order_relaxed);
    gave_up.store(GaveUp::no, std::memory_order_relaxed);
  }
  void count(std::int64_t made, bool were_interpreted) {
    trips.fetch_add(made, std::memory_order_relaxed);
    if (were_interpreted) interpreted.fetch_add(made, std::memory_order_relaxed);
  }
};

/// A whole loop or `if` as one program for a shape class of inputs, and the binding of each buffer
/// of the program.
struct RegionCode {
  /// What a buffer parameter of the program is bound to.
  struct Binding {
    scalar::LoopBinding kind;
    std::size_t index = 0;  ///< index among the bindings of this kind
    Tensor constant;
    /// Of an extent: the states and axes that have it.
    std::vector<std::pair<std::size_t, std::int64_t>> axes = {};
    /// The lifetime of a temporary, on a time scale of the program's own. Temporaries with disjoint
    /// lifetimes share memory.
    std::size_t first = 0, last = std::numeric_limits<std::size_t>::max();
  };
  std::shared_ptr<const scalar::Executable> code;
  std::vector<Binding> bindings;  ///< one per buffer parameter, in order
  /// The sizes that the program of a loop is given: true where it must be the extent itself, which
  /// is then the same in all trips; else there is room for as much.
  std::vector<bool> exact_sizes = {};
  /// Gives the types of the bound buffers for members of the shape class: one type per binding,
  /// perhaps followed by more. Only the types of states, temporaries, items and results are used.
  std::shared_ptr<const RegionTypes> types;
  std::vector<std::size_t> value_inputs;  ///< inputs whose values are a part of the class
  bool own = false;                       ///< of some very shapes (`NativeSource::own_code`)
  std::shared_ptr<LastRun> last_run = std::make_shared<LastRun>();
};

/// The buffers of a `RegionCode`: the address of each, and the memory of those that exist only
/// while the region runs.
class RegionBuffers {
 public:
  RegionBuffers(std::shared_ptr<const RegionCode>, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return code_; }
  /// The number of kernel threads that the workspace sizes are computed for.
  int threads() const { return threads_; }
  /// Whether the last run of the program was interpreted, because native code was not ready.
  bool were_interpreted() const { return context_.interpreted; }

  void point_at(std::size_t binding, const Tensor& t) {
    views_[binding] = {t.data(), t.shape().data(), t.strides().data()};
  }
  void point_at(std::size_t binding, void* scalar) { views_[binding] = {scalar, nullptr, nullptr}; }
  /// Adds memory for a parameter that is not visible outside the region and is not a temporary.
  /// Returns the index for `owned`.
  std::size_t add_owned(std::size_t binding);
  const Tensor& owned(std::size_t number) const { return owned_[number].tensor; }
  /// Sets the types of the owned buffers; `types` has one type per binding. Called before the first
  /// run, and whenever the types change.
  void set_types(const OutputTypes&);

  /// Allocates the owned buffers. Called before each run.
  void bind(Run&);
  /// Runs the program with these integer parameters. Throws the error of a check that fails.
  /// Returns the size that did not suffice, if the program stopped because of one.
  std::optional<scalar::SizeNeeded> run(Run&, std::span<const std::int64_t> params);
  /// Called after the region has run: frees memory that is too large to be kept.
  void drop_large_memory();
  void release();

 private:
  struct Owned {
    std::optional<std::size_t> binding;  ///< nullopt: the program's workspace
    DType dtype = DType::u8;
    Shape shape = {};
    std::size_t first, last;
    Tensor tensor = {};
  };
  void assign_offsets();

  std::shared_ptr<const RegionCode> code_;
  const int threads_;
  const bool checked_;        ///< check mode
  const std::size_t behind_;  ///< bytes behind each value in the arena
  std::vector<Owned> owned_;
  Layout layout_;         ///< layout of `owned_` in the arena
  ArenaOffsets offsets_;  ///< offsets of `owned_` in the arena
  Tensor arena_;
  bool bound_ = false;  ///< the owned buffers are allocated
  scalar::Context context_;
  std::vector<scalar::View> views_;  ///< by binding
};

/// The sizes that a region's program is given. They are remembered from run to run.
class GivenSizes {
 public:
  explicit GivenSizes(const RegionCode& code)
      : exact_(code.exact_sizes), sizes_(exact_.size()), found_(exact_.size()) {}
  bool empty() const { return sizes_.empty(); }
  std::span<const std::int64_t> values() const { return sizes_; }
  bool is_exact(std::size_t number) const { return exact_[number]; }
  /// Called when a run of the region begins.
  void begin();
  /// Whether sizes of earlier runs were given when this run began.
  bool were_remembered() const { return remembered_; }
  /// Drops the sizes of all runs.
  void forget() { sizes_.assign(sizes_.size(), 0); }
  /// Gives at least the size that is needed, and twice as much as before if `generous`. Returns
  /// false if it is to be exact and another size was needed before in this run, or if far more is
  /// there than is needed.
  bool give(scalar::SizeNeeded needed, bool generous);

 private:
  std::vector<bool> exact_;
  std::vector<std::int64_t> sizes_;
  std::vector<bool> found_;  ///< sizes that did not suffice in this run
  bool remembered_ = false;
};

/// A native loop with its buffers. Entering the loop reads the addresses of its inputs, copies the
/// initial states, and runs. Only values that leave the loop are allocated; nothing is looked up.
class NativeLoop {
 public:
  NativeLoop(std::shared_ptr<const RegionCode>, const LoopSlots&, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return buffers_.code(); }
  /// Prepares for inputs of the same shapes as the frame's; `types` has one type per binding.
  void set_types(const OutputTypes&, Frame&);
  int threads() const { return buffers_.threads(); }

  struct Outcome {
    std::int64_t trips;
    bool go;  ///< the last `go` of the body
  };
  /// Writes finals to their slots of the frame, and items to `stacks`, for which `Stack::begin` has
  /// been called. The loop must have at least one trip. Stops when the run's trip budget is used
  /// up. Nullopt: the items of a stack differ, or memory does not suffice for what the program
  /// needs (`no_memory`); nothing is written, and the loop must run step by step.
  std::optional<Outcome> run(Frame&, const LoopStart&, std::span<Stack> stacks);
  /// The error of the last run if there was not enough memory for states and temporaries.
  const std::optional<Error>& no_memory() const { return no_memory_; }
  /// Called after `run` has returned nullopt: whether to run as a whole once more, without the
  /// sizes that earlier runs needed, since memory did not suffice with them.
  bool forget_sizes();
  void release();

 private:
  struct Input {
    std::size_t binding;
    Slot slot;
  };
  struct State {
    std::size_t binding;
    Slot initial, final;
    std::size_t own = 0;  ///< index of its owned buffer, if the final value is not read
    OutputForm type = {};
    bool row_major = false;  ///< the initial value is row-major
    std::vector<std::pair<std::size_t, std::size_t>> changing = {};  ///< axes, and their extents
    Tensor block = {};  ///< the state, if its size may have to change
    Tensor saved = {};  ///< its value before the trips that run now, if they may run again
    std::string name = {};
  };
  struct Invariant {
    Slot initial, final;
  };
  struct ItemStack {
    std::size_t binding, stack;
    DType dtype = DType::f32;
    Shape item = {};
    Tensor rows = {};  ///< the rows that the program may write now
  };
  void bind(Frame&, const LoopStart&);
  std::int64_t prepare_rows(std::span<Stack> stacks, std::int64_t from, std::int64_t to);
  std::optional<std::int64_t> run_trips(Frame&, const LoopStart&, std::span<Stack> stacks);
  template <class F> bool lay_out(const F& allocate);
  void give_up_for(const Error& no_memory);
  std::int64_t first_room(const LoopStart&, std::int64_t most);
  std::span<const std::int64_t> room_for(std::int64_t trips);
  std::optional<double> bytes_for(std::int64_t trips);
  void make_room(Frame&, std::int64_t trips);
  void make_more_room(Frame&, std::int64_t most);
  bool give_size(Frame&, scalar::SizeNeeded, std::span<Stack> stacks, std::int64_t from);
  void save_states(Run&);
  void hand_on_states(Frame&);
  void drop_states();
  Tensor part_of(const State&, const Tensor& block) const;
  bool extents_change() const { return !extents_.empty(); }
  /// Whether sizes may change while the loop runs.
  bool sizes_change() const { return extents_change() || !sizes_.empty(); }
  void forward_invariants(Frame&) const;
  std::int64_t trips_of_first_chunk(std::span<const Stack> stacks) const;

  RegionBuffers buffers_;
  std::vector<Input> inputs_;
  std::vector<State> states_;
  std::vector<Invariant> invariants_;
  std::vector<ItemStack> stacks_;
  std::vector<Slot> outer_;
  std::vector<std::int64_t> extents_;        ///< those of states that change, in the current trip
  std::vector<std::int64_t> first_extents_;  ///< the same before the first trip
  std::int64_t room_ = 0;                    ///< the number of trips that the states have room for
  GivenSizes sizes_;
  std::vector<std::int64_t> laid_out_;  ///< the `room_for` that the buffers were made for
  std::vector<const Tensor*> tensors_;  ///< the outer values, while states grow
  OutputTypes types_;                   ///< scratch
  std::vector<std::int64_t> params_;    ///< scratch
  std::vector<std::int64_t> wanted_;    ///< scratch of `room_for`
  std::optional<Error> no_memory_;
  GaveUp gave_up_ = GaveUp::no;  ///< why it must run step by step
  std::uint8_t go_ = 0;
  std::int64_t stopped_ = 0;
};

/// A native `if` with its buffers.
class NativeIf {
 public:
  NativeIf(std::shared_ptr<const RegionCode>, const IfSlots&, Run&);
  const std::shared_ptr<const RegionCode>& code() const { return buffers_.code(); }
  void set_types(const OutputTypes&, Frame&);
  int threads() const { return buffers_.threads(); }
  /// Writes results to their slots of the frame. False: memory does not suffice for both branches;
  /// nothing is written, and the branch that is taken must run step by step.
  bool run(Frame&);
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

/// A step's cache of native regions, by the shapes of its inputs. `Native`: NativeLoop or NativeIf.
template <class Native> struct NativeCache {
  struct Region {
    std::unique_ptr<Native> native;  ///< null: these shapes run step by step
    std::uint32_t runs = 0;          ///< of these shapes, beside the first one
  };
  MruCache<Region> by_shapes;
  std::vector<const Tensor*> inputs;  ///< scratch, used while an entry is prepared
  OutputTypes types;                  ///< likewise

  void release() {
    by_shapes.each([](const Region& region) {
      if (region.native) region.native->release();
    });
  }
};

/// The source of a step's native code.
struct NativeSource {
  struct Answer {
    std::shared_ptr<const RegionCode> code;  ///< null: these inputs run step by step
    OutputTypes types = {};                  ///< the types of the bound buffers, for these inputs
  };
  /// Returns native code for `outer`: the inputs, then the captures. Returns nullopt if these
  /// inputs run step by step this time; the next run calls it again. Called only if neither the key
  /// (shapes, contiguity, values of `value_inputs`) nor the shape class of the inputs is cached. An
  /// empty function: the step never runs natively.
  std::function<std::optional<Answer>(std::span<const Value> outer)> code;
  std::vector<std::size_t> value_inputs;
  /// Returns code for these very shapes, which is better than that of their class, as soon as there
  /// is some. Called now and then for shapes that come again and again. Empty: there never is any.
  std::function<std::optional<Answer>(std::span<const Value> outer)> own_code = {};
  ComeAgain when = {};  ///< to call it

  /// The native region for the values in these slots, or null.
  template <class Native, class Slots>
  Native* find(NativeCache<Native>& cache, std::span<const Slot> outer, const Slots& slots,
               Frame& frame) const {
    if (!code) return nullptr;
    auto* found = cache.by_shapes.find(frame, outer);
    const int threads = frame.run().threads;
    if (found != nullptr && (!found->native || found->native->threads() == threads)) {
      if (!own_code || !found->native || found->native->code()->own || !when.now(++found->runs))
        return found->native.get();
      return with_own_code(cache, *found, outer, slots, frame);
    }
    const kernels::ThreadScope scope(threads);
    if (const auto of_class = class_of(cache, outer, frame))
      return prepare(cache, of_class, cache.types, outer, slots, frame);
    static const std::string what = "native code of the region";
    const TraceScope traced(frame.run().trace, ProfileEvent::Kind::prepare, what);
    const std::optional<Answer> made = code(values_of(frame, outer));
    return made ? prepare(cache, made->code, made->types, outer, slots, frame) : nullptr;
  }

 private:
  /// The region with code of these very shapes in place of that of their class, if there is some.
  template <class Native, class Slots>
  Native* with_own_code(NativeCache<Native>& cache, typename NativeCache<Native>::Region& of_class,
                        std::span<const Slot> outer, const Slots& slots, Frame& frame) const {
    const kernels::ThreadScope scope(frame.run().threads);
    static const std::string what = "native code of these shapes";
    const TraceScope traced(frame.run().trace, ProfileEvent::Kind::prepare, what);
    const std::optional<Answer> made = own_code(values_of(frame, outer));
    if (!made) return of_class.native.get();
    cache.by_shapes.forget(of_class);
    return prepare(cache, made->code, made->types, outer, slots, frame);
  }

  /// Cached code whose shape class contains these inputs, or null. Writes the types of the bound
  /// buffers to `cache.types`.
  template <class Native>
  static std::shared_ptr<const RegionCode> class_of(NativeCache<Native>& cache,
                                                    std::span<const Slot> outer, Frame& frame) {
    read_tensors(frame, outer, cache.inputs);
    std::shared_ptr<const RegionCode> found, refused;
    cache.by_shapes.each([&](const auto& region) {
      if (found || !region.native || region.native->code() == refused) return;
      refused = region.native->code();
      if (refused->types->evaluate(cache.inputs, cache.types)) found = refused;
    });
    return found;
  }

  /// Adds a cache entry for the values in these slots. `types`: the types of the bound buffers.
  template <class Native, class Slots>
  Native* prepare(NativeCache<Native>& cache, const std::shared_ptr<const RegionCode>& of_class,
                  const OutputTypes& types, std::span<const Slot> outer, const Slots& slots,
                  Frame& frame) const {
    using Region = typename NativeCache<Native>::Region;
    const auto serves = [&](const Region& region) {
      return region.native && region.native->code() == of_class &&
             region.native->threads() == frame.run().threads;
    };
    auto& [keys, region] = cache.by_shapes.reuse(serves);
    auto& native = region.native;
    region.runs = 0;
    if (!of_class) native.reset();
    else if (!serves(region)) native = std::make_unique<Native>(of_class, slots, frame.run());
    if (native) native->set_types(types, frame);
    keys.set(frame, outer, of_class ? of_class->value_inputs : value_inputs, Strides::contiguity);
    return native.get();
  }
};

}  // namespace rondel::runtime
