#pragma once
#include "ir/infer.h"

namespace rondel::passes {

/// Products and convolutions of bytes read constants, and what does not change in a loop, in the
/// form that their kernels multiply: packed once, or once before the loop.
bool pack_bytes(ir::Graph&, const ir::Evaluator&);

}  // namespace rondel::passes
