#pragma once
#include "ir/infer.h"

namespace rondel::passes {

/// Infers all types anew; what turns out to be known without running the model (shape arithmetic,
/// small nodes of constants) becomes a constant. An `if` whose condition is known is replaced by
/// the branch taken.
bool fold_constants(ir::Graph&, const ir::Evaluator&);

}  // namespace rondel::passes
