#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

std::vector<ir::ValueId> cast_like_of(ir::Builder& b, const ir::Node& node) {
  ir::Attributes attributes = node.attributes;
  attributes.set("to", ir::Type::scalar(b.graph().value(node.inputs[1]).type.dtype()));
  return {b("cast", {node.inputs[0]}, attributes)};
}

void cast_like_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_tensor(c, 1);
  c.output(0, with_dtype(c.input(0), c.input(1).dtype()));
  c.holds_while();
}

const ir::OpEntry cast_like{{
    .name = "cast_like",
    .doc = "y = x in the dtype of the other input, whose values do not matter",
    .inputs = {{"x"}, {"like"}},
    .attributes = {{"saturate", 1}, {"round_mode", "up"}},
    .type = cast_like_rule,
    .meaning = composite(cast_like_of),
}};

}  // namespace
}  // namespace rondel::ops
