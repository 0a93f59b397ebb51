#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex hard_sigmoid_of(Emitter& e, Ex x) {
  const Ex line = attribute(e, "alpha", x) * x + attribute(e, "beta", x);
  return max(scalar::literal(x, 0), min(scalar::literal(x, 1), line));
}

const ir::OpEntry hard_sigmoid{{
    .name = "hard_sigmoid",
    .doc = "y = alpha * x + beta, clamped to [0, 1]",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 0.2F}, {"beta", 0.5}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(hard_sigmoid_of)),
}};

}  // namespace
}  // namespace rondel::ops
