#include "ops/gradients.h"
#include "ops/random/random.h"
#include "ops/wide.h"
#include "scalar/math.h"

#include <cmath>
#include <numbers>

namespace rondel::ops {
namespace {

/// A number in (0, 1], in fine steps near 0, because small numbers give the tail of the
/// distribution.
Ex open_unit(DType t, const std::array<Ex, 4>& block) {
  if (t == DType::f64) return (cast(t, random_u64(block, 0) >> 11) + 0.5) * std::ldexp(1.0, -53);
  return (cast(DType::f32, block[0]) + 0.5) * std::ldexp(1.0, -32);
}

/// The Box-Muller transform of two uniform numbers.
Ex normal_element(Emitter& e, std::size_t, const Indices& index) {
  const DType t = e.output_dtype(), wide = scalar::compute_type(t);
  const std::array<Ex, 4> block = element_block(e, 0, index);
  const Ex radius = sqrt(scalar::log(open_unit(wide, block)) * -2.0);
  const Ex turn = unit_interval(wide, block, 1) * (2 * std::numbers::pi);
  const Ex mean = widened(e.load(1, {})), scale = widened(e.load(2, {}));
  return narrowed(t, fma(radius * scalar::cos(turn), scale, mean));
}

const ir::OpEntry normal{{
    .name = "normal",
    .doc = "y = numbers drawn from the normal distribution of a mean and a standard deviation, by "
           "a key",
    .inputs = {{"key"},
               {"mean"},
               {"scale"},
               {"shape", ir::InputDef::optional},
               {"like", ir::InputDef::optional}},
    .type = draw_rule,
    .meaning = elements(normal_element),
    .value_inputs = {3},
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
