#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry relu{{
    .name = "relu",
    .doc = "y = max(x, 0); NaN stays",
    .inputs = {{"x"}},
    .type = numbers_only(same_as_first),
    .meaning = elementwise([](Ex x) { return max(x, scalar::literal(x, 0)); }),
    .gradient = derivative<1>([](auto&, auto x) { return max(x, literal(x, 0)); }),
}};

}  // namespace
}  // namespace rondel::ops
