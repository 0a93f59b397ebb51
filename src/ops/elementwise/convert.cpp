#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

ScaleRounding rounding(const ir::Attributes& a) {
  const std::string mode = a.s("round_mode", "up");
  if (mode == "up") return ScaleRounding::up;
  if (mode == "down") return ScaleRounding::down;
  require(mode == "nearest", "round_mode is '{}'; expected 'up', 'down' or 'nearest'", mode);
  return ScaleRounding::nearest;
}

Ex converted(Emitter& e, Ex x) {
  const DType to = e.output_dtype();
  if (to == x.type()) return x;
  return e.builder().cast(to, x, e.attributes().flag("saturate", true), rounding(e.attributes()));
}

bool converts(DType t) { return t != DType::string && !is_complex(t); }

void convert_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype(), to = dtype_attribute(c.attributes(), "to");
  require(from == to || (converts(from) && converts(to)), "there is no conversion from {} to {}",
          name(from), name(to));
  rounding(c.attributes());
  c.output(0, with_dtype(c.input(0), to));
  if (holds_extents(to)) keep_elements(c);
  c.holds_while();
}

/// No gradient flows through f8e8m0, which has neither zero nor negative numbers.
std::vector<ir::ValueId> convert_gradient(ir::Builder& b, const ir::Node& node,
                                          std::span<const ir::ValueId> adjoints) {
  const DType from = dtype_of(b, node.inputs[0]);
  return {from == DType::f8e8m0 ? ir::ValueId::none : as(b, adjoints[0], from)};
}

const ir::OpEntry convert{{
    .name = "convert",
    .doc = "y = x in another dtype: floats round to even and saturate to integers, integers wrap",
    .inputs = {{"x"}},
    .attributes = {{"saturate", 1}, {"round_mode", "up"}},
    .required = {"to"},
    .type = convert_rule,
    .meaning = elementwise(converted),
    .gradient = convert_gradient,
}};

}  // namespace
}  // namespace rondel::ops
