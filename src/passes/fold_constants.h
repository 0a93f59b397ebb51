#pragma once
#include "ir/infer.h"

namespace rondel::passes {

/// Infers all types again. Values that are known without running the model (shape arithmetic, small
/// nodes that read constants only) become constants. An `if` with a known condition is replaced by
/// the branch taken.
bool fold_constants(ir::Graph&, const ir::Evaluator&);

/// Infers all types again, with a name for each extent that is not known. Returns whether one
/// changed.
bool renew_types(ir::Graph&);

/// Replaces an `if` by the nodes of one of its branches.
void replace_by_branch(ir::Graph&, ir::NodeId, ir::RegionId taken);

}  // namespace rondel::passes
