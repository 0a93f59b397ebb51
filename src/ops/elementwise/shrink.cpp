#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto shrink_of = [](auto& e, auto x) {
  const auto bias = attribute(e, "bias", x), lambd = attribute(e, "lambd", x);
  return select(x < -lambd, x + bias, select(x > lambd, x - bias, 0));
};

const ir::OpEntry shrink{{
    .name = "shrink",
    .doc = "y = x + bias below -lambd, x - bias above lambd, 0 between",
    .inputs = {{"x"}},
    .attributes = {{"bias", 0.0}, {"lambd", 0.5}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(shrink_of),
    .gradient = derivative<1>(shrink_of),
}};

}  // namespace
}  // namespace rondel::ops
