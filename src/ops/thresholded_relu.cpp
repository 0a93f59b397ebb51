#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex thresholded_relu_of(Emitter& e, Ex x) { return select(x > attribute(e, "alpha", x), x, 0); }

const ir::OpEntry thresholded_relu{{
    .name = "thresholded_relu",
    .doc = "y = x above alpha, 0 elsewhere",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(thresholded_relu_of)),
}};

}  // namespace
}  // namespace rondel::ops
