#include "scalar/math.h"
#include "scalar/math_parts.h"

namespace rondel::scalar {

// With quotients below `most`, q = trunc(|a| / |b|) rounded is the whole quotient or one more, both
// exact, and |a| - q |b| is a multiple of an ulp of b below 2^24 or 2^53 of them: one fma gives it.
Ex fmod(Ex a, Ex b) {
  using namespace parts;
  const double most = is_f32(a) ? 0x1p22 : 0x1p51;
  const Ex x = abs(a), y = abs(b);
  const auto large = [&] { return std::vector<Ex>{x % y}; };
  const auto small = [&] {
    const Ex rest = fma(-trunc(x / y), y, x);
    return std::vector<Ex>{select(x < y, x, select(rest < literal(rest, 0.0), rest + y, rest))};
  };
  return flip_sign(x.builder().if_(x >= y * most, large, small)[0], a);
}

}  // namespace rondel::scalar
