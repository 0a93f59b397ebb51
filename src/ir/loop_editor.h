#pragma once
#include "ir/graph.h"

namespace rondel::ir {

/// Changes what a loop carries, scans and stacks. The loop's inputs, outputs and `LoopParts`, and
/// the parameters and results of its body, change together. The caller provides all types; nothing
/// is inferred.
class LoopEditor {
 public:
  LoopEditor(Graph& g, NodeId loop) : g_(g), n_(loop), parts_(g.node(loop).loop()) {}
  const LoopParts& parts() const { return parts_; }

  // ---- the inputs that limit the trips: trip count and condition; none removes the input

  void set_trips(ValueId);
  void set_go(ValueId);

  // ---- states

  struct State {
    ValueId param;  ///< of the body
    ValueId final;  ///< the value after the last trip
  };
  /// Adds a state after the others. `type` must hold for all its values. If `next` is none, the
  /// next value is the parameter itself.
  State add_state(ValueId initial, ValueId next, const Type&, std::string name);
  /// Sets the state's value for the next trip.
  void set_next(std::size_t s, ValueId next) { g_.set_result(parts_.body, 1 + s, next); }
  void set_fixed(std::size_t s, bool);
  void set_keeps(std::size_t s, bool);
  /// Requires that the final value has no readers, and the parameter none except the state's own
  /// next value.
  void remove_state(std::size_t s);
  /// State `order[k]` becomes state k.
  void reorder_states(std::span<const std::size_t> order);

  // ---- scans

  ValueId scanned(std::size_t k) const { return loop().inputs[parts_.scans_at() + k]; }
  /// Adds a scan; returns the body's parameter for the element.
  ValueId add_scan(ValueId x, std::int64_t axis, bool reverse, const Type& element,
                   std::string name);
  void set_scanned(std::size_t k, ValueId x) { g_.set_input(n_, parts_.scans_at() + k, x); }
  /// Requires that the element has no readers.
  void remove_scan(std::size_t k);
  void reorder_scans(std::span<const std::size_t> order);

  // ---- stacks

  ValueId stack(std::size_t k) const { return loop().outputs[parts_.states + k]; }
  ValueId item(std::size_t k) const { return body().results[1 + parts_.states + k]; }
  /// The input that gives the extent of the stack, or none.
  ValueId extent(std::size_t k) const;
  /// Adds a stack and returns it.
  ValueId add_stack(ValueId item, std::int64_t axis, bool reverse, ValueId extent,
                    const Type& stack, std::string name);
  void set_layout(std::size_t k, std::int64_t axis, bool reverse);
  /// Sets the model's declared type of the item (`LoopParts::declared`).
  void set_declared(std::size_t k, Type item);
  /// Sets the input that gives the extent of the stack; none removes the input.
  void set_extent(std::size_t k, ValueId);
  /// Requires that the stack has no readers.
  void remove_stack(std::size_t k);
  void reorder_stacks(std::span<const std::size_t> order);

 private:
  const Node& loop() const { return g_.node(n_); }
  const Region& body() const { return g_.region(parts_.body); }
  void commit() { g_.set_loop(n_, parts_); }
  void set_optional_input(bool& present, std::size_t at, ValueId);

  Graph& g_;
  NodeId n_;
  LoopParts parts_;
};

/// Output `j` of a loop, which gets this type if the loop has no such output yet.
ValueId restored_output(Graph&, NodeId loop, std::size_t j, const Type&);

}  // namespace rondel::ir
