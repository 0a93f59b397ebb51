#pragma once
#include "runtime/native_region.h"
#include "runtime/plan.h"

namespace rondel::runtime {

/// The parts of a loop, as docs/loops.md defines them.
struct LoopSpec {
  bool has_trips = false, has_go = false;
  std::size_t states = 0, scans = 0, stacks = 0;
  std::vector<std::int64_t> fixed, axis_in, reverse_in, axis_out, reverse_out;
  std::vector<std::int64_t> extents;  ///< one flag per stack: whether an input gives its extent
  /// Item names are the names in the body; stack names are the names of the loop's outputs.
  std::vector<std::string> state_names, scan_names, item_names, stack_names;
};

struct LoopState;

class LoopStep : public Step {
 public:
  LoopSpec spec;
  Plan body;
  /// The type of an item, as far as it can be inferred from the types of inputs and captures: dtype
  /// and extents (-1: unknown), or no shape if the rank is unknown. `item_types` is called when the
  /// trip count is zero (docs/loops.md, rule 3).
  struct ItemType {
    DType dtype;
    std::optional<Shape> shape;
  };
  std::function<std::vector<ItemType>(std::span<const Value> inputs,
                                      std::span<const Value> captures)>
      item_types;

  NativeSource native;

  std::unique_ptr<StepState> make_state() const override;
  void run(Frame&, StepState*) const override;

 private:
  void start(Frame&, LoopStart&) const;
  Slot stack_slot(std::size_t k) const { return outputs[spec.states + k]; }
  void begin_stacks(Frame&, LoopState&) const;
  std::int64_t run_trips(Frame&, LoopState&) const;
  std::optional<std::int64_t> run_native(Frame&, LoopState&, NativeLoop&) const;
  std::int64_t run_steps(Frame&, LoopState&) const;
  void begin_trip(LoopState&, Frame& inner, Frame&, std::int64_t t) const;
  void end_trip(LoopState&, Frame& inner, Frame&, std::int64_t t) const;
  void run_zero_trips(Frame&, const LoopStart&) const;
};

}  // namespace rondel::runtime
