#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

constexpr auto softsign_of = [](auto&, auto x) { return x / (1 + abs(x)); };

const ir::OpEntry softsign{{
    .name = "softsign",
    .doc = "y = x / (1 + |x|)",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = formula<1>(softsign_of),
    .gradient = derivative<1>(softsign_of),
}};

}  // namespace
}  // namespace rondel::ops
