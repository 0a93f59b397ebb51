#pragma once
#include "ir/infer.h"

#include <vector>

/// What passes that change loops ask of their bodies.
namespace rondel::passes {

/// All loops of the graph, those inside of another before it.
std::vector<ir::NodeId> loops_inside_out(const ir::Graph&);

/// What is known of the values of a loop's body from the ops' rules alone: a name that a model
/// gives to an extent in a body may stand for another number in each trip.
ir::TypeEnvironment types_in(const ir::Graph&, ir::NodeId loop);
/// Whether a value of the body has the same shape in each trip, as far as is known.
bool keeps_shape(const ir::TypeEnvironment&, ir::ValueId);
/// Whether computing it once for many trips saves much: a product, a convolution, a kernel.
bool is_costly(const ir::Node&);

/// Whether a node runs on whatever inputs it may get: neither what it computes nor its type rule
/// can fail, whatever unknown extents are.
bool cannot_fail(const ir::Graph&, ir::NodeId);

/// Removes nodes of the region whose results nothing reads.
void erase_unread(ir::Graph&, ir::RegionId);

}  // namespace rondel::passes
