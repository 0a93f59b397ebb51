#pragma once
#include "scalar/math_parts.h"

namespace rondel::scalar::parts {

/// x = (4 t + q) pi/2 + r for some integer t, with |r| at most slightly above pi/4. q is unsigned,
/// of the float's width, and only its low two bits matter.
struct QuarterTurns {
  Ex q;
  Pair r;
};

/// For x >= 0; undefined for infinity and NaN. Below 2^17 (f32) or 2^30 (f64)
/// pi/2 is subtracted in three parts (Cody and Waite). Beyond, x is multiplied by the digits of
/// 2/pi that affect the result, in integers (Payne and Hanek): a branch that is rarely taken.
QuarterTurns quarter_turns(Ex x);

}  // namespace rondel::scalar::parts
