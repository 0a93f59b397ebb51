#pragma once
#include "ir/graph.h"

namespace rondel::gradients {

/// Where a `where` puts other values in the place of whole rows of a `softmax`, zeros take the
/// place of the scores of these rows. ONNX's Attention is of this form for queries all of whose
/// keys are masked: their scores are -inf, of which the softmax and its derivative are NaN, and no
/// adjoint of zero hides a NaN. So is what torch's exporter writes, Where(IsNaN(p), 0, p). No value
/// of the graph changes except those that nothing takes. Precondition: the graph still has its
/// composites.
void mask_scores(ir::Graph&);

}  // namespace rondel::gradients
