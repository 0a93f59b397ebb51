#pragma once
#include "ir/infer.h"
#include "ops/meaning.h"
#include "scalar/builder.h"

#include <functional>
#include <map>
#include <vector>

/// Lowering nodes to loop nests, which the lowering of groups and of loops share.
namespace rondel::passes {

/// A value that is read: where its elements are while a program is written.
struct Operand {
  std::function<scalar::Ex(const scalar::Indices&)> load;
  /// The part of a buffer whose axes and extents are exactly the value's, where there is one.
  ops::BufferPart part;
  std::vector<scalar::Ex> extents;
};

/// A value that is written: where its elements go, to several places where it is both state and
/// item.
struct Sink {
  std::vector<std::function<void(const scalar::Indices&, scalar::Ex)>> stores;
  ops::BufferPart part;  ///< a buffer that takes all of them, where there is one
  std::vector<scalar::Ex> extents;
};

/// The context of lowering nodes.
struct LoweringScope {
  const ir::Graph& graph;
  const ir::TypeEnvironment& environment;
  scalar::Builder& builder;
  std::map<ir::ValueId, Operand> operands;
  std::map<ir::ValueId, Sink> sinks;
};

/// A value whose only element is `element`.
Operand one_element(scalar::Builder&, scalar::Ex element, std::int64_t rank);
/// The elements of a buffer.
Operand whole_buffer(scalar::Builder&, std::int32_t buffer);
Sink whole_sink(scalar::Builder&, std::int32_t buffer);
/// The only element of a small constant.
scalar::Ex constant_element(scalar::Builder&, const Tensor&);

/// Writes some nodes: one loop nest over their index space, or the nest that a single node says.
/// Every operand from outside has a place; every value read outside has a sink.
void lower_nodes(LoweringScope&, std::span<const ir::NodeId>);

}  // namespace rondel::passes
