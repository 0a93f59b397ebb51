#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void add_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  combine_elements(c, [](const ir::Integer& a, const ir::Integer& b) { return a + b; });
}

const ir::OpEntry add{{
    .name = "add",
    .doc = "c = a + b, broadcast; integers wrap",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(add_rule),
    .meaning = elementwise([](Ex a, Ex b) { return a + b; }),
    .gradient = derivative<2>([](auto&, auto a, auto b) { return a + b; }),
}};

}  // namespace
}  // namespace rondel::ops
