#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Type;
using ir::ValueId;

/// The dtype of the numbers that `convert_text` reads or writes for a cast from or to `t`.
DType text_dtype(DType t, bool to_text) {
  if (is_float(t)) return t == DType::f64 || !to_text ? DType::f64 : DType::f32;
  if (is_unsigned_integer(t)) return DType::u64;
  return is_integer(t) ? DType::i64 : t;
}

ValueId convert_to(ir::Builder& b, ValueId x, DType to, const ir::Attributes& attributes) {
  if (b.graph().value(x).type.dtype() == to) return x;
  return b("convert", {x},
           {{"to", Type::scalar(to)},
            {"saturate", attributes.i("saturate", 1)},
            {"round_mode", attributes.s("round_mode", "up")}});
}

std::vector<ValueId> cast_to(ir::Builder& b, const ir::Node& node) {
  const ValueId x = node.inputs[0];
  const DType from = b.graph().value(x).type.dtype();
  const DType to = dtype_attribute(node.attributes, "to");
  if ((from == DType::string) == (to == DType::string))
    return {convert_to(b, x, to, node.attributes)};
  if (to == DType::string) {
    const ValueId number = convert_to(b, x, text_dtype(from, true), node.attributes);
    return {b("convert_text", {number}, {{"to", Type::scalar(to)}})};
  }
  const DType through = to == DType::f32 ? to : text_dtype(to, false);
  const ValueId number = b("convert_text", {x}, {{"to", Type::scalar(through)}});
  return {convert_to(b, number, to, node.attributes)};
}

void cast_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType to = dtype_attribute(c.attributes(), "to");
  c.output(0, with_dtype(c.input(0), to));
  if (holds_extents(to)) keep_elements(c);
  c.holds_while();
}

const ir::OpEntry cast_op{{
    .name = "cast",
    .doc = "y = x in another dtype, text included",
    .inputs = {{"x"}},
    .attributes = {{"saturate", 1}, {"round_mode", "up"}},
    .required = {"to"},
    .type = cast_rule,
    .meaning = composite(cast_to),
}};

}  // namespace
}  // namespace rondel::ops
