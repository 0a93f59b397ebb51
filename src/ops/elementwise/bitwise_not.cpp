#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry bitwise_not{{
    .name = "bitwise_not",
    .doc = "y = x with every bit inverted",
    .inputs = {{"x"}},
    .type = integers_only(same_as_first),
    .meaning = elementwise([](Ex x) { return ~x; }),
}};

}  // namespace
}  // namespace rondel::ops
