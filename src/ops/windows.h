#pragma once
#include "ir/attributes.h"
#include "ir/type.h"
#include "kernels/window.h"

namespace rondel::ops {

/// Attributes kernel_shape, strides, dilations, pads, auto_pad and ceil_mode.
kernels::WindowSpec window_spec(const ir::Attributes&);
/// The number of elements of a padded axis behind its first window; negative where no window fits,
/// which is an error. Strides step through these elements.
ir::Integer window_room(const kernels::WindowSpec&, std::size_t axis, const ir::Extent& input,
                        const ir::Extent& kernel);
/// The number of window positions along one axis, as far as the extents are known.
ir::Extent window_extent(const kernels::WindowSpec&, std::size_t axis, const ir::Extent& input,
                         const ir::Extent& kernel);

}  // namespace rondel::ops
