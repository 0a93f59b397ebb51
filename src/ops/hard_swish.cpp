#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex hard_swish_of(Ex x) {
  const Ex gate = max(scalar::literal(x, 0), min(scalar::literal(x, 1), x * (1.0 / 6.0) + 0.5));
  return x * gate;
}

const ir::OpEntry hard_swish{{
    .name = "hard_swish",
    .doc = "y = x * max(0, min(1, x / 6 + 1 / 2))",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(hard_swish_of)),
}};

}  // namespace
}  // namespace rondel::ops
