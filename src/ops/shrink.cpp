#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex shrink_of(Emitter& e, Ex x) {
  const Ex bias = attribute(e, "bias", x), lambd = attribute(e, "lambd", x);
  return select(x < -lambd, x + bias, select(x > lambd, x - bias, 0));
}

const ir::OpEntry shrink{{
    .name = "shrink",
    .doc = "y = x + bias below -lambd, x - bias above lambd, 0 between",
    .inputs = {{"x"}},
    .attributes = {{"bias", 0.0}, {"lambd", 0.5}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(shrink_of)),
}};

}  // namespace
}  // namespace rondel::ops
