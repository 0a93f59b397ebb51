#pragma once
#include "ir/infer.h"
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
Sink whole_sink(scalar::Builder&, std::int32_t buffer);
/// The only element of a small constant.
scalar::Ex constant_element(scalar::Builder&, const Tensor&);

/// Writes some nodes: one loop nest over their index space, or the nest that a single node says.
/// Every operand from outside has a place; every value read outside has a sink.
void lower_nodes(LoweringScope&, std::span<const ir::NodeId>);

}  // namespace rondel::passes
