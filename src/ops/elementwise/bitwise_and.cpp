#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry bitwise_and{{
    .name = "bitwise_and",
    .doc = "c = a and b, bit by bit, broadcast",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = integers_only(broadcast_rule),
    .meaning = elementwise([](Ex a, Ex b) { return a & b; }),
}};

}  // namespace
}  // namespace rondel::ops
