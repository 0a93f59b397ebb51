#pragma once
#include "runtime/plan.h"
#include "scalar/loop_binding.h"

namespace rondel::runtime {

class Stack;

/// The loop of loops.md, with its parts as the graph has them.
struct LoopSpec {
  bool has_trips = false, has_go = false;
  std::size_t states = 0, scans = 0, stacks = 0;
  std::vector<std::int64_t> fixed, axis_in, reverse_in, axis_out, reverse_out;
  std::vector<std::int64_t> extents;  ///< flag a stack
  /// An item as the body calls it, a stack as the loop calls what it gives.
  std::vector<std::string> state_names, scan_names, item_names, stack_names;
};

/// What a run of a loop starts from, read from its inputs and checked.
struct LoopStart {
  std::optional<std::int64_t> trips;  ///< the most trips: `trips`, or the least scan extent
  bool go = true;
  bool certain = false;  ///< `trips` is the number made
  std::vector<Value> states;
  std::vector<Tensor> scans;
  std::vector<std::int64_t> scan_extents;
  std::vector<std::optional<std::int64_t>> extents;
};

class LoopStep : public Step {
 public:
  LoopSpec spec;
  Plan body;
  /// The types of the items as far as the types of inputs and captures tell: dtype and extents (-1:
  /// unknown), or nothing where not even the rank is known. Asked when no trip is made (loops.md
  /// rule 3).
  struct ItemType {
    DType dtype;
    std::optional<Shape> shape;
  };
  std::function<std::vector<ItemType>(std::span<const Value> inputs,
                                      std::span<const Value> captures)>
      item_types;

  /// A native whole loop for these inputs, or nothing: then the loop runs step by step.
  struct Native {
    std::shared_ptr<const scalar::Executable> code;
    /// Parameters of the program, in order: what each buffer is bound to.
    struct Binding {
      scalar::LoopBinding kind;
      std::size_t index = 0;     ///< state, capture (of `captures`), scan or stack number
      DType dtype = DType::f32;  ///< of a temporary
      Shape shape;               ///< of a temporary, or of an item
      Tensor constant;
    };
    std::vector<Binding> bindings;
  };
  std::function<std::shared_ptr<const Native>(std::span<const Value> inputs,
                                              std::span<const Value> captures)>
      native;

  void run(Frame&, StepState*) const override;

 private:
  LoopStart start(Frame&) const;
  std::vector<Value> given(Frame&) const;
  std::vector<Value> captured(Frame&) const;
  void finish(Frame&, const LoopStart&, std::vector<Value> states, std::int64_t n,
              std::vector<Tensor> stacks) const;
  std::int64_t run_steps(Frame&, LoopStart&, std::vector<Stack>&) const;
  std::int64_t run_native(Frame&, const Native&, LoopStart&, std::vector<Stack>&) const;
};

}  // namespace rondel::runtime
