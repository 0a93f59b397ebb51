#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "scalar/math.h"

namespace rondel::ops {
namespace {

const ir::OpEntry sigmoid_op{{
    .name = "sigmoid",
    .doc = "y = 1 / (1 + exp(-x))",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return scalar::sigmoid(x); }),
    .transcendental = true,
    .gradient = derivative<1>([](auto&, auto x) { return sigmoid(x); }),
}};

}  // namespace
}  // namespace rondel::ops
