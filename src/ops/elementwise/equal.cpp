#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry equal{{
    .name = "equal",
    .doc = "c = (a == b), broadcast; of any dtype",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = broadcast_to_bool,
    .meaning = elementwise([](Ex a, Ex b) { return a == b; }),
}};

}  // namespace
}  // namespace rondel::ops
