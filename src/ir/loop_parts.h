#pragma once
#include "ir/attributes.h"
#include "ir/lists.h"

namespace rondel::ir {

struct Node;

/// The facts of a `loop` node, whose inputs are [trips?, go?, states..., scans..., extents...] and
/// whose outputs are [finals..., stacks..., n]. See docs/loops: the loop's contract.
/// Body: params [i, go, states..., elements...], results [go, states..., items...].
struct LoopParts {
  bool has_trips = false, has_go = false;
  std::size_t states = 0, scans = 0, stacks = 0;
  /// One for each state, scan or stack; flags but for the axes. In a node none is empty that should
  /// not be: what is left out is zeros.
  /// `keeps`: the source of the model declares that this state keeps its shape, but nothing
  /// enforces it. The declaration is trusted where no trip is made, because no trip can contradict
  /// it.
  Ints fixed, keeps, axis_in, reverse_in, axis_out, reverse_out, extents;
  /// The model's declared type of each item, beyond what can be inferred; of kind `none` without
  /// one. It may be wrong, and is used where no trip is made.
  TypeList declared;
  RegionId body = RegionId::none;

  LoopParts() = default;
  /// Those of a loop.
  explicit LoopParts(const Node&);
  std::size_t trips_at() const { return 0; }
  std::size_t go_at() const { return has_trips ? 1U : 0U; }
  std::size_t states_at() const { return std::size_t{has_trips} + std::size_t{has_go}; }
  std::size_t scans_at() const { return states_at() + states; }
  /// Input number of stack k's extent; only where `has_extent(k)`.
  std::size_t extent_at(std::size_t k) const;
  bool has_extent(std::size_t k) const { return k < extents.size() && extents[k] != 0; }
  std::size_t input_count() const { return extent_at(stacks); }
  std::size_t output_count() const { return states + stacks + 1; }
  /// The same facts as text has them, and back: flags `trips` and `go`, counts `states`, `scans`
  /// and `stacks`, and the lists. Throws Error(caller) where one is of another kind or unknown.
  Attributes attributes() const;
  static LoopParts from(const Attributes&);
};

}  // namespace rondel::ir
