#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void any_float(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  require(is_float(x.dtype()), "input 0 is {}; expected a float", name(x.dtype()));
  c.output(0, with_dtype(x, DType::boolean));
}

const ir::OpEntry is_nan{{
    .name = "is_nan",
    .doc = "y = whether x is not a number",
    .inputs = {{"x"}},
    .type = any_float,
    .meaning = elementwise([](Ex x) { return scalar::is_nan(x); }),
}};

}  // namespace
}  // namespace rondel::ops
