#pragma once
#include "compile/build_context.h"
#include "lowering/group.h"
#include "runtime/late_plan.h"

#include <memory>

namespace rondel::compile {

/// The node as a group whose inputs are those values that are no constants.
lowering::Group alone(const ir::Graph&, ir::NodeId);

/// The step of a composite op whose inputs' ranks, or extents that its expansion needs, the model
/// does not tell. When the step runs, the op is expanded for the ranks or shapes that are there,
/// and the result is planned; the last few plans are kept. `group` is `alone(graph, node)`.
std::unique_ptr<runtime::LatePlanStep> late_expansion(const BuildContext&,
                                                      const lowering::Group& group);

}  // namespace rondel::compile
