#include "ops/windows.h"

namespace rondel::ops {

kernels::WindowSpec window_spec(const ir::Attributes& a) {
  return {a.ints("kernel_shape"),
          a.ints("strides"),
          a.ints("dilations"),
          a.ints("pads"),
          kernels::parse_auto_pad(a.s("auto_pad", "NOTSET")),
          a.flag("ceil_mode")};
}

ir::Extent window_extent(const kernels::WindowSpec& spec, std::size_t axis, const ir::Extent& input,
                         const ir::Extent& kernel) {
  if (!input.known() || !kernel.known()) return {};
  kernels::WindowAxis w = kernels::axis_of(spec, axis, input.value, kernel.value);
  return kernels::places(w, input.value, spec.ceil_mode);
}

}  // namespace rondel::ops
