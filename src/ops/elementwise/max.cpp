#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex all_max(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = max(result, v);
  return result;
}

void max_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  combine_elements(c, [](const ir::Integer& a, const ir::Integer& b) { return max(a, b); });
}

const ir::OpEntry max_op{{
    .name = "max",
    .doc = "y = the greatest of the inputs, element by element, broadcast; NaN wins",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = numbers_only(max_rule),
    .meaning = elementwise(all_max),
    .gradient = shared_among_ties,
}};

}  // namespace
}  // namespace rondel::ops
