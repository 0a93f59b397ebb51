#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void where_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::boolean);
  require_same_dtype(c, 1, 2);
  const ir::Type* all[] = {&c.input(0), &c.input(1), &c.input(2)};
  auto extents = broadcast_extents(c, all);
  const DType t = c.input(1).dtype();
  if (extents) holds_if_broadcasts(c, all, *extents);
  c.output(0, extents ? ir::Type::tensor(t, *extents) : ir::Type::unranked(t));
}

const ir::OpEntry where_op{{
    .name = "where",
    .doc = "y = a where the condition holds, b elsewhere, broadcast; of any dtype",
    .inputs = {{"condition"}, {"a"}, {"b"}},
    .type = where_rule,
    .meaning = elementwise([](Ex condition, Ex a, Ex b) { return select(condition, a, b); }),
    .gradient = derivative<3>([](auto& d, auto condition, auto a, auto b) {
      return select(DualCondition{&d, condition.value}, a, b);
    }),
}};

}  // namespace
}  // namespace rondel::ops
