#include "base/error.h"
#include "ops/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex dequantized(Emitter& e, std::size_t, const Indices& index) {
  scalar::Builder& b = e.builder();
  const DType wide = scalar::compute_type(e.output_dtype());
  Ex x = b.cast(wide, e.load(0, index));
  if (e.has(2)) x = x - b.cast(wide, load_parameter(e, 2, index));
  return b.cast(e.output_dtype(), x * b.cast(wide, load_parameter(e, 1, index)));
}

void dequantize_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype();
  require(is_quantized(from) || from == DType::i32,
          "input 0 is {}; expected i32, an integer of at most 16 bits or a float of at most 8",
          name(from));
  require_scale(c, 1);
  if (c.has(2)) require_same_dtype(c, 0, 2);
  const ir::Type& asked = c.attributes().type("output_dtype");
  const DType to = asked.is_tensor() ? asked.dtype() : c.input(1).dtype();
  require(is_float(to) && !is_small_float(to),
          "the result would be {}; expected a float of 16 bits and up; give output_dtype?",
          name(to));
  require_granularity(c);
  c.output(0, with_dtype(c.input(0), to));
}

const ir::OpEntry dequantize_linear{{
    .name = "dequantize_linear",
    .doc = "y = (x - zero_point) * scale, for the tensor, an axis or its blocks",
    .inputs = {{"x"}, {"scale"}, {"zero_point", ir::InputDef::optional}},
    .attributes = {{"axis", 1}, {"block_size", 0}, {"output_dtype", ir::Type()}},
    .type = dequantize_rule,
    .meaning = elements(dequantized),
}};

}  // namespace
}  // namespace rondel::ops
