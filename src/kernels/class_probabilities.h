#pragma once
#include "kernels/kernel.h"

namespace rondel::kernels {

/// Probabilities of `classes` classes from those of their pairs, as libsvm couples them (Wu, Lin,
/// Weng: Probability estimates for multi-class classification by pairwise coupling, 2004, the
/// second method): f32[n, classes * (classes - 1) / 2], where the pair (i, j), i < j, has the
/// probability of i, in the order (0, 1), (0, 2), ..., (1, 2), ... -> f32[n, classes].
std::shared_ptr<const SizedKernel> class_probabilities(std::int64_t classes);

}  // namespace rondel::kernels
