#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto hard_swish_of = [](auto&, auto x) {
  const auto gate = max(literal(x, 0), min(literal(x, 1), x * (1.0 / 6.0) + 0.5));
  return x * gate;
};

const ir::OpEntry hard_swish{{
    .name = "hard_swish",
    .doc = "y = x * max(0, min(1, x / 6 + 1 / 2))",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(hard_swish_of),
    .gradient = derivative<1>(hard_swish_of),
}};

}  // namespace
}  // namespace rondel::ops
