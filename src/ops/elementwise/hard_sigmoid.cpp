#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto hard_sigmoid_of = [](auto& e, auto x) {
  const auto line = attribute(e, "alpha", x) * x + attribute(e, "beta", x);
  return max(literal(x, 0), min(literal(x, 1), line));
};

const ir::OpEntry hard_sigmoid{{
    .name = "hard_sigmoid",
    .doc = "y = alpha * x + beta, clamped to [0, 1]",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 0.2F}, {"beta", 0.5}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(hard_sigmoid_of),
    .gradient = derivative<1>(hard_sigmoid_of),
}};

}  // namespace
}  // namespace rondel::ops
