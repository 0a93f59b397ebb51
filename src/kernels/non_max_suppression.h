#pragma once
#include "kernels/unsized_kernel.h"

namespace rondel::kernels {

/// Selects boxes of each batch element and class, by falling score; of equal scores, the box with
/// the smaller index first, and NaN last. A box is left out if its intersection over union with a
/// selected box of the same class is above the threshold. Inputs: boxes f32[batch, n, 4], scores
/// f32[batch, classes, n], and three scalars that may be omitted: the most boxes of a class (i64,
/// default 0), the threshold (f32, default 0), and a score that a box must exceed (f32). Output:
/// the batch, class and box indices, i64[selected, 3]. Boxes are two opposite corners [y, x, y, x],
/// or [x, y, width, height] with the centre first if `centered`.
void non_max_suppression(UnsizedCall&, bool centered);

}  // namespace rondel::kernels
