#pragma once
#include "ir/infer.h"
#include "passes/group.h"
#include "scalar/builder.h"

#include <functional>
#include <map>
#include <vector>

/// The part that lowering a group and lowering a loop share: nodes to loop nests.
namespace rondel::passes {

/// Where the elements of a value are while a program is written.
struct Place {
  std::function<scalar::Ex(const scalar::Indices&)> load;
  /// The buffer whose axes are exactly the value's, else -1.
  std::int32_t buffer = -1;
  std::vector<scalar::Ex> extents;
};

/// Where an output's elements go; several where a value is both state and item.
struct Sink {
  std::vector<std::function<void(const scalar::Indices&, scalar::Ex)>> stores;
  std::int32_t buffer = -1;  ///< a buffer that takes all of them, else -1
  std::vector<scalar::Ex> extents;
};

/// What is known where nodes are lowered.
struct LoweringScope {
  const ir::Graph& graph;
  const ir::Knowledge& knowledge;
  scalar::Builder& builder;
  std::map<ir::ValueId, Place> places;
  std::map<ir::ValueId, Sink> sinks;
};

/// A value whose only element is `element`.
Place single_element(scalar::Builder&, scalar::Ex element, std::int64_t rank);
/// The elements of a buffer.
Place whole_buffer(scalar::Builder&, std::int32_t buffer);
/// A constant of one element that fits in a register, if `v` is one.
std::optional<scalar::Ex> small_constant(scalar::Builder&, const ir::Graph&, ir::ValueId v);

/// Writes one group: a loop nest over its index space, or the nest its single node says.
void lower_nodes(LoweringScope&, const Group&);

}  // namespace rondel::passes
