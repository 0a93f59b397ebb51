#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry not_op{{
    .name = "not",
    .doc = "y = not x",
    .inputs = {{"x"}},
    .type = bools_only(same_as_first),
    .meaning = elementwise([](Ex x) { return ~x; }),
}};

}  // namespace
}  // namespace rondel::ops
