#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex quotient(Ex a, Ex b) {
  if (is_integer(b.type())) b.builder().check(b != 0, "integer division by zero");
  return a / b;
}

const ir::OpEntry div_op{{
    .name = "div",
    .doc = "c = a / b, broadcast; integers divide towards zero, and by zero is an error",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(broadcast_rule),
    .meaning = elementwise(quotient),
    .can_fail = may_divide_by_zero,
}};

}  // namespace
}  // namespace rondel::ops
