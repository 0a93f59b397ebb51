#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry mul{{
    .name = "mul",
    .doc = "c = a * b, broadcast; integers wrap",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(broadcast_rule),
    .meaning = elementwise([](Ex a, Ex b) { return a * b; }),
}};

}  // namespace
}  // namespace rondel::ops
