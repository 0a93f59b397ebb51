#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex quotient(Ex a, Ex b) {
  if (is_integer(b.type())) b.builder().check(b != 0, "integer division by zero");
  return a / b;
}

/// Known if neither operand is negative, because rounding towards zero is then rounding down.
/// Division by 0 ends the run, so its quotient does not matter.
ir::Integer integer_quotient(const ir::Integer& a, const ir::Integer& b) {
  return a.at_least(0) && b.at_least(0) ? floor_div(a, b) : ir::Integer();
}

void div_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  combine_elements(c, integer_quotient);
}

const ir::OpEntry div_op{{
    .name = "div",
    .doc = "c = a / b, broadcast; integers divide towards zero, and by zero is an error",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(div_rule),
    .meaning = elementwise(quotient),
    .can_fail = may_divide_by_zero,
    .gradient = derivative<2>([](auto&, auto a, auto b) { return a / b; }),
}};

}  // namespace
}  // namespace rondel::ops
