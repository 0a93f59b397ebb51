#pragma once
#include "ir/attributes.h"
#include "ir/type.h"
#include "kernels/window.h"

namespace rondel::ops {

/// The window that the attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode
/// describe.
kernels::WindowSpec window_spec(const ir::Attributes&);
/// The number of positions, beyond the first, at which a window fits on a padded axis with stride
/// 1; negative if no window fits, which is an error. With ceil_mode, a window may reach beyond the
/// padding by less than a stride.
ir::Integer window_room(const kernels::WindowSpec&, std::size_t axis, const ir::Extent& input,
                        const ir::Extent& kernel);
/// The number of window positions along one axis, as far as the extents are known.
ir::Extent window_extent(const kernels::WindowSpec&, std::size_t axis, const ir::Extent& input,
                         const ir::Extent& kernel);

}  // namespace rondel::ops
