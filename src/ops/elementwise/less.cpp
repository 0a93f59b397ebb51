#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry less{{
    .name = "less",
    .doc = "c = a < b, broadcast",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(broadcast_to_bool),
    .meaning = elementwise([](Ex a, Ex b) { return a < b; }),
}};

}  // namespace
}  // namespace rondel::ops
