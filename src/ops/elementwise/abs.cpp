#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry abs_op{{
    .name = "abs",
    .doc = "y = |x|; the least integer is unchanged",
    .inputs = {{"x"}},
    .type = numbers_only(same_as_first),
    .meaning = elementwise([](Ex x) { return is_unsigned_integer(x.type()) ? x : abs(x); }),
    .gradient = derivative<1>([](auto&, auto x) { return abs(x); }),
}};

}  // namespace
}  // namespace rondel::ops
