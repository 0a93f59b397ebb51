#include "ops/derivative.h"
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
    .gradient = derivative_of_all([](Derivation&, std::span<const Dual> x) {
      Dual sum = x[0];
      for (const Dual& v : x.subspan(1)) sum = sum + v;
      return sum / static_cast<double>(x.size());
    }),
}};

}  // namespace
}  // namespace rondel::ops
