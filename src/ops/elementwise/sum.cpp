#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex total(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = result + v;
  return result;
}

std::vector<ir::ValueId> sum_gradient(ir::Builder& b, const ir::Node& node,
                                      std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result;
  for (const ir::ValueId x : node.inputs) result.push_back(summed_to(b, adjoints[0], x));
  return result;
}

const ir::OpEntry sum_op{{
    .name = "sum",
    .doc = "y = the sum of the inputs, element by element, broadcast",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = numbers_only(broadcast_rule),
    .meaning = elementwise(wide(total)),
    .gradient = sum_gradient,
}};

}  // namespace
}  // namespace rondel::ops
