#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

void checked_int32_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::i64);
  c.output(0, with_dtype(c.input(0), DType::i32));
  keep_elements(c);
}

Ex checked_in_int32(Emitter& e, std::span<const Ex> x) {
  using Limits = std::numeric_limits<std::int32_t>;
  scalar::Builder& b = e.builder();
  for (const Ex holds : {x[0] >= b.index(Limits::min()), x[0] <= b.index(Limits::max())})
    b.check(holds, "{} is beyond what int32 holds", {x[0]});
  return b.cast(DType::i32, x[0]);
}

const ir::OpEntry checked_int32{{
    .name = "checked_int32",
    .doc = "y = x as int32; a number that int32 does not hold is an error",
    .inputs = {{"x"}},
    .type = checked_int32_rule,
    .meaning = elementwise(checked_in_int32),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
