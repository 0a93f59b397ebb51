#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex sign_of(Ex x) {
  const Ex zero = scalar::literal(x, 0), one = scalar::literal(x, 1);
  if (is_unsigned_integer(x.type())) return select(x != zero, one, zero);
  const Ex sign = select(x > zero, one, select(x < zero, -one, zero));
  return is_float(x.type()) ? select(is_nan(x), x, sign) : sign;
}

const ir::OpEntry sign_op{{
    .name = "sign",
    .doc = "y = -1, 0 or 1 as x is below, at or above zero; NaN stays",
    .inputs = {{"x"}},
    .type = numbers_only(same_as_first),
    .meaning = elementwise(sign_of),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
