#include "ops/quantized/packed_operands.h"

#include "base/checked.h"
#include "kernels/integer_product.h"

namespace rondel::ops {
namespace {

ir::Extent divided_up(const ir::Extent& e, std::int64_t by) {
  return e.known() ? ir::Extent(divide_up(e.value, by)) : ir::Extent();
}

}  // namespace

ir::Extents panel_extents(const ir::Extent& depth, const ir::Extent& columns) {
  return {divided_up(columns, kernels::packed_panel_columns), divided_up(depth, 4),
          kernels::packed_panel_columns};
}

ir::Extent packed_channels(const ir::Extent& channels) { return divided_up(channels, 4); }

}  // namespace rondel::ops
