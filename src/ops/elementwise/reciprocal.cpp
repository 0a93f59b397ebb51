#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry reciprocal{{
    .name = "reciprocal",
    .doc = "y = 1 / x",
    .inputs = {{"x"}},
    .type = floats_only(same_as_first),
    .meaning = elementwise([](Ex x) { return 1 / x; }),
    .gradient = derivative<1>([](auto&, auto x) { return 1 / x; }),
}};

}  // namespace
}  // namespace rondel::ops
