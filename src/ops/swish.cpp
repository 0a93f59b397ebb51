#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex swish_of(Emitter& e, Ex x) { return x * sigmoid(attribute(e, "alpha", x) * x); }

const ir::OpEntry swish{{
    .name = "swish",
    .doc = "y = x * sigmoid(alpha * x)",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(swish_of)),
}};

}  // namespace
}  // namespace rondel::ops
