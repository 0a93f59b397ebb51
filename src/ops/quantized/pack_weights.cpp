#include "base/error.h"
#include "kernels/integer_conv.h"
#include "ops/quantized/packed_operands.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void pack_weights_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, byte_dtypes());
  const ir::Type& w = c.input(0);
  if (!w.has_rank()) return c.output(0, ir::Type::unranked(DType::i32));
  require(w.rank() >= 2, "w is {}; expected [m, channels, kernel...]", to_text(w));
  ir::Extents packed(w.extents().begin(), w.extents().end());
  packed[1] = packed_channels(packed[1]);
  c.output(0, ir::Type::tensor(DType::i32, std::move(packed)));
  if (w.is_static()) c.holds_while();
}

const ir::OpEntry pack_weights{{
    .name = "pack_weights",
    .doc = "y = weights w of bytes in the form that conv_packed reads: 4 channels are neighbours",
    .inputs = {{"w"}},
    .type = pack_weights_rule,
    .meaning = kernel([](const ir::Node&, std::span<const ir::Type> inputs) {
      return kernels::pack_weights(inputs[0].dtype() == DType::i8,
                                   static_cast<std::size_t>(inputs[0].rank()));
    }),
}};

}  // namespace
}  // namespace rondel::ops
