#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry xor_op{{
    .name = "xor",
    .doc = "c = a or b, not both, of bools, broadcast",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = bools_only(broadcast_rule),
    .meaning = elementwise([](Ex a, Ex b) { return a ^ b; }),
}};

}  // namespace
}  // namespace rondel::ops
