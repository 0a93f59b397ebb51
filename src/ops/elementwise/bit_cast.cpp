#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

bool is_packed(DType t) { return file_bits(t) < 8; }

/// The bits of a value that takes a byte.
Ex as_byte(Ex x) { return x.type() == DType::boolean ? cast(DType::u8, x) : bitcast(DType::u8, x); }

/// Each 4- or 2-bit value takes a byte: the bits above it repeat the sign of a signed integer and
/// are 0 otherwise.
Ex with_packed_bits(Ex x, DType to) {
  const Ex code = as_byte(x);
  const int spare = 8 - file_bits(to);
  if (!is_signed_integer(to)) return bitcast(to, code & ((1 << file_bits(to)) - 1));
  return bitcast(to, (bitcast(DType::i8, code) << spare) >> spare);
}

Ex same_bits(Emitter& e, Ex x) {
  const DType to = e.output_dtype();
  if (to == x.type()) return x;
  if (to == DType::boolean) return as_byte(x) != 0;
  if (is_packed(to)) return with_packed_bits(x, to);
  return bitcast(to, x.type() == DType::boolean ? as_byte(x) : x);
}

void bit_cast_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const DType from = c.input(0).dtype(), to = dtype_attribute(c.attributes(), "to");
  require(from != DType::string && to != DType::string,
          "the bits of {} as {}; expected numbers or bools", name(from), name(to));
  require(file_bits(from) == file_bits(to), "{} has {} bits and {} has {}; expected equal widths",
          name(from), file_bits(from), name(to), file_bits(to));
  c.output(0, with_dtype(c.input(0), to));
  c.holds_while();
}

std::vector<ir::ValueId> bit_cast_gradient(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::ValueId> adjoints) {
  const DType from = dtype_of(b, node.inputs[0]), to = dtype_of(b, node.outputs[0]);
  if (from != to)
    unsupported("the gradient of a BitCast of {} to {}; a Cast?", name(from), name(to));
  return {adjoints[0]};
}

const ir::OpEntry bit_cast{{
    .name = "bit_cast",
    .doc =
        "y = the bits of x as another dtype of the same width; as a bool, whether any bit is set",
    .inputs = {{"x"}},
    .required = {"to"},
    .type = bit_cast_rule,
    .meaning = elementwise(same_bits),
    .gradient = bit_cast_gradient,
}};

}  // namespace
}  // namespace rondel::ops
