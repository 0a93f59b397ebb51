#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex average(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = result + v;
  return result / static_cast<double>(x.size());
}

std::vector<ir::ValueId> mean_gradient(ir::Builder& b, const ir::Node& node,
                                       std::span<const ir::ValueId> adjoints) {
  const ir::ValueId count = b.scalar(dtype_of(b, adjoints[0]),
                                     static_cast<double>(node.inputs.size()));
  const ir::ValueId share = b("div", {adjoints[0], count});
  std::vector<ir::ValueId> result;
  for (const ir::ValueId x : node.inputs) result.push_back(summed_to(b, share, x));
  return result;
}

const ir::OpEntry mean{{
    .name = "mean",
    .doc = "y = the mean of the inputs, element by element, broadcast",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = floats_only(broadcast_rule),
    .meaning = elementwise(wide(average)),
    .gradient = mean_gradient,
}};

}  // namespace
}  // namespace rondel::ops
