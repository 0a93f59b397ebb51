#pragma once
#include "scalar/builder.h"

/// Transcendental functions as scalar programs over the primitives: branch-free where that
/// vectorises, the same bits in every executor. Each says its largest error in units in the last
/// place against the exact result rounded (f32 over all inputs, f64 sampled); narrower
/// floats compute in f32 and round once. Integers are not accepted.
namespace rondel::scalar {

Ex exp(Ex);
Ex expm1(Ex);
Ex log(Ex);
Ex log1p(Ex);
Ex sin(Ex);
Ex cos(Ex);
Ex tan(Ex);
Ex tanh(Ex);
Ex sinh(Ex);
Ex cosh(Ex);
Ex asin(Ex);
Ex acos(Ex);
Ex atan(Ex);
Ex asinh(Ex);
Ex acosh(Ex);
Ex atanh(Ex);
Ex erf(Ex);
Ex sigmoid(Ex);  ///< 1 / (1 + exp(-x)), without overflow
/// x to the power y as C's pow: floats by exp(y log x) with an extended logarithm.
Ex pow(Ex x, Ex y);
/// Integer power by squaring; a negative exponent gives 0 unless |x| = 1.
Ex integer_pow(Ex x, Ex y);

}  // namespace rondel::scalar
