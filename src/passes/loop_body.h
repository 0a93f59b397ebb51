#pragma once
#include "ir/infer.h"

#include <vector>

/// Analyses of loop bodies, for passes that change loops.
namespace rondel::passes {

/// Whether the node is an `if`.
bool is_if(const ir::Node&);
/// Whether the region is in the body of a loop, or is one.
bool is_in_loop(const ir::Graph&, ir::RegionId);
/// The outermost loop around a node in which `v` is invariant; none if there is no such loop.
ir::NodeId outermost_loop_that_keeps(const ir::Graph&, ir::NodeId, ir::ValueId v);

/// The types and values of a loop's body as the ops' type rules infer them. Types that the model
/// declares are ignored: an extent's name in a body may stand for another number in each trip.
ir::TypeEnvironment types_in(const ir::Graph&, ir::NodeId loop);
/// Whether the loop certainly makes a trip, by what is known around it.
bool certainly_makes_a_trip(const ir::Node& loop, const ir::TypeEnvironment&);
/// Whether the loop's condition never ends it; requires a condition. `types_in` tells enough.
bool never_ends(const ir::Graph&, const ir::Node& loop, const ir::TypeEnvironment&);
/// Whether nothing more can be inferred of a type: its extents are numbers or names.
bool is_told(const ir::Type&);
/// Whether a value of the body certainly has the same shape in each trip.
bool keeps_shape(const ir::TypeEnvironment&, ir::ValueId);
/// Whether no rule that was inferred can fail, whatever the extents are that are no numbers.
bool shapes_agree(const ir::TypeEnvironment&);
/// The nodes of a loop's body, with all in its regions.
std::size_t nodes_of_body(const ir::Graph&, ir::NodeId loop);
/// The most nodes of a loop's body that a pass may copy: 128, halved for each `if` around the loop,
/// because each level of branches doubles the loops.
std::size_t most_nodes_to_copy(const ir::Graph&, ir::NodeId loop);
/// Whether computing a node once for many trips saves much: a product, a convolution, a kernel.
bool is_costly(const ir::Node&);

/// Whether a node succeeds for all inputs: neither its computation nor its type rule can fail,
/// whatever the unknown extents are.
bool cannot_fail(const ir::Graph&, ir::NodeId);

/// Removes the nodes of the region whose results nothing reads.
void erase_unread(ir::Graph&, ir::RegionId);

}  // namespace rondel::passes
