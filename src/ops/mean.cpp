#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex average(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = result + v;
  return result / static_cast<double>(x.size());
}

const ir::OpEntry mean{{
    .name = "mean",
    .doc = "y = the mean of the inputs, element by element, broadcast",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = floats_only(broadcast_rule),
    .meaning = elementwise(wide(average)),
}};

}  // namespace
}  // namespace rondel::ops
