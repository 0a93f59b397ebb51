#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex total(Emitter&, std::span<const Ex> x) {
  Ex result = x[0];
  for (Ex v : x.subspan(1)) result = result + v;
  return result;
}

const ir::OpEntry sum_op{{
    .name = "sum",
    .doc = "y = the sum of the inputs, element by element, broadcast",
    .inputs = {{"x", ir::InputDef::variadic}},
    .type = numbers_only(broadcast_rule),
    .meaning = elementwise(wide(total)),
    .gradient = derivative_of_all([](Derivation&, std::span<const Dual> x) {
      Dual sum = x[0];
      for (const Dual& v : x.subspan(1)) sum = sum + v;
      return sum;
    }),
}};

}  // namespace
}  // namespace rondel::ops
