#pragma once
#include "ir/graph.h"

namespace rondel::ir {

/// Changes what a loop carries, scans and stacks: inputs, outputs, facts, and its body's parameters
/// and results change together. Types are the caller's to give; nothing is inferred.
class LoopEditor {
 public:
  LoopEditor(Graph& g, NodeId loop) : g_(g), n_(loop), parts_(g.node(loop).loop()) {}
  const LoopParts& parts() const { return parts_; }

  // ---- what ends it: an input, or none

  void set_trips(ValueId);
  void set_go(ValueId);

  // ---- states

  struct State {
    ValueId param;  ///< of the body
    ValueId final;  ///< what the last trip left
  };
  /// One more, after those there are, of a type that holds for all its values. Its next value is
  /// the parameter itself where `next` is none.
  State add_state(ValueId initial, ValueId next, const Type&, std::string name);
  /// What it becomes in the next trip.
  void set_next(std::size_t s, ValueId next) { g_.set_result(parts_.body, 1 + s, next); }
  void set_fixed(std::size_t s, bool);
  void set_keeps(std::size_t s, bool);
  /// Nobody reads its final value, and its parameter nobody but itself as its own next value.
  void remove_state(std::size_t s);
  /// State k becomes what is state `order[k]`.
  void reorder_states(std::span<const std::size_t> order);

  // ---- scans

  ValueId scanned(std::size_t k) const { return loop().inputs[parts_.scans_at() + k]; }
  /// One more: returns the body's parameter, an element.
  ValueId add_scan(ValueId x, std::int64_t axis, bool reverse, const Type& element,
                   std::string name);
  void set_scanned(std::size_t k, ValueId x) { g_.set_input(n_, parts_.scans_at() + k, x); }
  /// Nobody reads its element.
  void remove_scan(std::size_t k);
  void reorder_scans(std::span<const std::size_t> order);

  // ---- stacks

  ValueId stack(std::size_t k) const { return loop().outputs[parts_.states + k]; }
  ValueId item(std::size_t k) const { return body().results[1 + parts_.states + k]; }
  /// The extent of its own that a stack has, or none.
  ValueId extent(std::size_t k) const;
  /// One more: returns the stack.
  ValueId add_stack(ValueId item, std::int64_t axis, bool reverse, ValueId extent,
                    const Type& stack, std::string name);
  void set_layout(std::size_t k, std::int64_t axis, bool reverse);
  /// What the model says of its item beyond what can be inferred.
  void set_declared(std::size_t k, Type item);
  /// An extent of its own, or none.
  void set_extent(std::size_t k, ValueId);
  /// Nobody reads it.
  void remove_stack(std::size_t k);
  void reorder_stacks(std::span<const std::size_t> order);

 private:
  const Node& loop() const { return g_.node(n_); }
  const Region& body() const { return g_.region(parts_.body); }
  void commit() { g_.set_loop(n_, parts_); }
  void limit(bool& there, std::size_t at, ValueId);

  Graph& g_;
  NodeId n_;
  LoopParts parts_;
};

}  // namespace rondel::ir
