#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto thresholded_relu_of = [](auto& e, auto x) {
  return select(x > attribute(e, "alpha", x), x, 0);
};

const ir::OpEntry thresholded_relu{{
    .name = "thresholded_relu",
    .doc = "y = x above alpha, 0 elsewhere",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1.0}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(thresholded_relu_of),
    .gradient = derivative<1>(thresholded_relu_of),
}};

}  // namespace
}  // namespace rondel::ops
