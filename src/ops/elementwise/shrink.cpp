#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto shrink_of = [](auto& e, auto x) {
  const auto bias = attribute(e, "bias", x), lambd = attribute(e, "lambd", x);
  return select(x < -lambd, x + bias, select(x > lambd, x - bias, 0));
};

/// Integers are shrunk as f64 and rounded towards 0: bias and lambd may have a fraction.
Ex shrink_meaning(Emitter& e, std::span<const Ex> x) {
  const DType t = x[0].type();
  return narrowed(t, shrink_of(e, is_integer(t) ? cast(DType::f64, x[0]) : widened(x[0])));
}

const ir::OpEntry shrink{{
    .name = "shrink",
    .doc = "y = x + bias below -lambd, x - bias above lambd, 0 between",
    .inputs = {{"x"}},
    .attributes = {{"bias", 0.0}, {"lambd", 0.5}},
    .type = numbers_only(same_as_first),
    .meaning = elementwise(shrink_meaning),
    .gradient = derivative<1>(shrink_of),
}};

}  // namespace
}  // namespace rondel::ops
