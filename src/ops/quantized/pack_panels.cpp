#include "base/error.h"
#include "kernels/integer_product.h"
#include "ops/quantized/packed_operands.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void pack_panels_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, byte_dtypes());
  const ir::Type& b = c.input(0);
  if (!b.has_rank()) return c.output(0, ir::Type::unranked(DType::i32));
  require(b.rank() >= 2, "b is {}; expected matrices", to_text(b));
  ir::Extents panels(b.extents().begin(), b.extents().end() - 2);
  const ir::Extents inner = panel_extents(b.extent(b.rank() - 2), b.extent(b.rank() - 1));
  panels.insert(panels.end(), inner.begin(), inner.end());
  c.output(0, ir::Type::tensor(DType::i32, std::move(panels)));
  if (b.is_static()) c.holds_while();
}

const ir::OpEntry pack_panels{{
    .name = "pack_panels",
    .doc = "y = matrices b of bytes in the form that mat_mul_panels reads: 4 rows by 32 columns "
           "are neighbours",
    .inputs = {{"b"}},
    .type = pack_panels_rule,
    .meaning = kernel([](const ir::Node&, std::span<const ir::Type> inputs) {
      return kernels::pack_panels(inputs[0].dtype() == DType::i8,
                                  static_cast<std::size_t>(inputs[0].rank()));
    }),
}};

}  // namespace
}  // namespace rondel::ops
