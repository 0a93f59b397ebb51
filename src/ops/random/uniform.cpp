#include "ops/gradients.h"
#include "ops/random/random.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex uniform_element(Emitter& e, std::size_t, const Indices& index) {
  const DType t = e.output_dtype();
  const Ex low = widened(e.load(1, {})), high = widened(e.load(2, {}));
  return narrowed(t, fma(unit_interval(t, element_block(e, 0, index)), high - low, low));
}

const ir::OpEntry uniform{{
    .name = "uniform",
    .doc = "y = numbers drawn evenly from [low, high), by a key; rounding may give high",
    .inputs = {{"key"},
               {"low"},
               {"high"},
               {"shape", ir::InputDef::optional},
               {"like", ir::InputDef::optional}},
    .type = draw_rule,
    .meaning = elements(uniform_element),
    .value_inputs = {3},
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
