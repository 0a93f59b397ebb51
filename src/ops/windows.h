#pragma once
#include "ir/attributes.h"
#include "ir/type.h"
#include "kernels/window.h"

namespace rondel::ops {

/// Attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.
kernels::WindowSpec window_spec(const ir::Attributes&);
/// How many places the window takes along one axis; unknown where an extent is.
ir::Extent window_extent(const kernels::WindowSpec&, std::size_t axis, const ir::Extent& input,
                         const ir::Extent& kernel);

}  // namespace rondel::ops
