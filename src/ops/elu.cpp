#include "ops/type_rules.h"
#include "ops/wide.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

Ex elu_of(Emitter& e, Ex x) { return select(x < 0, attribute(e, "alpha", x) * expm1(x), x); }

const ir::OpEntry elu{{
    .name = "elu",
    .doc = "y = x above zero, alpha * (exp(x) - 1) below",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(elu_of)),
}};

}  // namespace
}  // namespace rondel::ops
