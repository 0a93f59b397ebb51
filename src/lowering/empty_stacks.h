#pragma once
#include "ir/infer.h"

#include <vector>

namespace rondel::lowering {

/// Completes what is declared of the items that loops stack by what the model's types tell: ranks,
/// and extents by number (docs/loops.md, rule 3).
void complete_declared_items(ir::Graph&);
/// The same of all items. Before a graph is made for certain shapes: its types then tell more than
/// the model's.
void declare_items(ir::Graph&);

/// What the model tells of the items of stack k of a loop: the declared type, or that of the graph
/// if nothing is declared.
ir::Type declared_item(const ir::Graph&, ir::NodeId loop, std::size_t k);

/// The items that a loop would stack if it made a trip: inferred from the types of all that goes
/// in, but from no values except its trip count (docs/loops.md, rule 3). `known`: the types of the
/// loop's outer values, and what is known of its trip count. The declared types where the loop's
/// operands do not go together. Extents have only names that those of the outer values have.
std::vector<ir::Type> items_without_trips(const ir::Graph&, ir::NodeId loop,
                                          const ir::TypeEnvironment& known,
                                          const ir::Evaluator& evaluate);

}  // namespace rondel::lowering
