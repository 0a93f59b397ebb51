#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex all_min(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = min(result, v);
  return result;
}

void min_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  combine_elements(c, [](const ir::Integer& a, const ir::Integer& b) { return min(a, b); });
}

const ir::OpEntry min_op{{
    .name = "min",
    .doc = "y = the least of the inputs, element by element, broadcast; NaN wins",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = numbers_only(min_rule),
    .meaning = elementwise(all_min),
    .gradient = shared_among_ties,
}};

}  // namespace
}  // namespace rondel::ops
