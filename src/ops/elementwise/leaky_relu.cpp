#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto leaky_relu_of = [](auto& e, auto x) {
  return select(x < 0, x * attribute(e, "alpha", x), x);
};

const ir::OpEntry leaky_relu{{
    .name = "leaky_relu",
    .doc = "y = x above zero, alpha * x below",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 0.01F}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(leaky_relu_of),
    .gradient = derivative<1>(leaky_relu_of),
}};

}  // namespace
}  // namespace rondel::ops
