#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex celu_of(Emitter& e, Ex x) {
  const Ex alpha = attribute(e, "alpha", x), zero = scalar::literal(x, 0);
  return max(zero, x) + min(zero, alpha * expm1(x / alpha));
}

const ir::OpEntry celu{{
    .name = "celu",
    .doc = "y = max(0, x) + min(0, alpha * (exp(x / alpha) - 1))",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(celu_of)),
}};

}  // namespace
}  // namespace rondel::ops
