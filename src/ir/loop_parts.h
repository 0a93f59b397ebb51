#pragma once
#include "ir/attributes.h"
#include "ir/lists.h"

namespace rondel::ir {

struct Node;

/// The structure of a `loop` node. Its inputs are [trips?, go?, states..., scans..., extents...],
/// its outputs [finals..., stacks..., n]. The body has the parameters [i, go, states...,
/// elements...] and the results [go, states..., items...]. docs/loops.md has the loop's contract.
struct LoopParts {
  bool has_trips = false, has_go = false;
  std::size_t states = 0, scans = 0, stacks = 0;
  /// One entry per state, scan or stack; flags, except for the axes. In a node, lists that were
  /// left out are filled with zeros.
  /// `keeps`: the source of the model declares that this state keeps its shape, but nothing
  /// enforces it. The declaration is trusted only if no trip is made, because then no trip can
  /// contradict it.
  Ints fixed, keeps, axis_in, reverse_in, axis_out, reverse_out, extents;
  /// The type of each item as the model declares it, which may be more exact than the inferred
  /// type; `none` if there is no declaration. It may be wrong, and is used only if no trip is made.
  TypeList declared;
  RegionId body = RegionId::none;

  LoopParts() = default;
  /// The parts of a loop node.
  explicit LoopParts(const Node&);
  std::size_t trips_at() const { return 0; }
  std::size_t go_at() const { return has_trips ? 1U : 0U; }
  std::size_t states_at() const { return std::size_t{has_trips} + std::size_t{has_go}; }
  std::size_t scans_at() const { return states_at() + states; }
  /// Input number of the extent of stack k; only if `has_extent(k)`.
  std::size_t extent_at(std::size_t k) const;
  bool has_extent(std::size_t k) const { return k < extents.size() && extents[k] != 0; }
  std::size_t input_count() const { return extent_at(stacks); }
  std::size_t output_count() const { return states + stacks + 1; }
  /// Conversion to attributes, for the text form, and back: flags `trips` and `go`, counts
  /// `states`, `scans` and `stacks`, and the lists. `from` throws Error(caller) if an attribute has
  /// the wrong kind or is unknown.
  Attributes attributes() const;
  static LoopParts from(const Attributes&);
};

}  // namespace rondel::ir
