#pragma once
#include "scalar/builder.h"

/// Transcendental functions as scalar programs over the primitives: the same bits in every
/// executor, and branch-free if that helps to vectorize. The comment at each definition gives the
/// largest error in units in the last place (ulp) against the exact result (f32: all inputs; f64:
/// sampled). Narrower floats compute in f32 and round once. Integers are not accepted.
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
/// x to the power y, with the special cases of C's pow: exp(y log x) with an extended-precision
/// logarithm.
Ex pow(Ex x, Ex y);
/// C's fmod, exactly: a - b trunc(a / b), with the sign of a; NaN for infinite a, and for b = 0.
Ex fmod(Ex a, Ex b);
/// Integer power by squaring; a negative exponent gives 0 unless |x| = 1.
Ex integer_pow(Ex x, Ex y);

}  // namespace rondel::scalar
