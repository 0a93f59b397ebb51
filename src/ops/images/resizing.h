#pragma once
#include "ops/compose.h"

#include <string>

/// Resizing along one axis, as a small graph of other ops.
namespace rondel::ops {

struct AxisResize {
  std::string mode, coordinates, nearest;  ///< as the attributes of Resize
  bool antialias = false, exclude_outside = false;
  double cubic_a = -0.75, extrapolation = 0;
  std::int64_t axis = 0, rank = 0;
  ir::ValueId in = {}, out = {};  ///< extents before and after, i64 scalars
  ir::ValueId scale = {};         ///< f32 scalar
  ir::ValueId width = {};         ///< in * scale, which need not be an integer, f32 scalar
  ir::ValueId start = ir::ValueId::none, end = ir::ValueId::none;  ///< the region: f32 scalars
};

/// x, a float unless the mode is 'nearest', resized along one axis. Positions are f32.
ir::ValueId resized_along(ir::Builder&, ir::ValueId x, const AxisResize&);

/// extent * scale, f32, rounded once and never fused with later arithmetic.
ir::ValueId scaled_extent(ir::Builder&, ir::ValueId extent, ir::ValueId scale);
/// The nearest integer of a float that is not negative; halves go up, or down.
ir::ValueId rounded(ir::Builder&, ir::ValueId x, bool halves_up);

}  // namespace rondel::ops
