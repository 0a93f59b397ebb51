#include "base/error.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry is_nan{{
    .name = "is_nan",
    .doc = "y = whether x is not a number",
    .inputs = {{"x"}},
    .type = float_predicate_rule,
    .meaning = elementwise([](Ex x) { return scalar::is_nan(x); }),
}};

}  // namespace
}  // namespace rondel::ops
