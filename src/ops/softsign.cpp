#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex softsign_of(Ex x) { return x / (1 + abs(x)); }

const ir::OpEntry softsign{{
    .name = "softsign",
    .doc = "y = x / (1 + |x|)",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise(wide(softsign_of)),
}};

}  // namespace
}  // namespace rondel::ops
