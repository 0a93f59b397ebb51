#include "ops/windows/windows.h"

namespace rondel::ops {
namespace {

bool is_same_padding(const kernels::WindowSpec& spec) {
  return spec.auto_pad == kernels::AutoPad::same_upper ||
         spec.auto_pad == kernels::AutoPad::same_lower;
}

/// `window_room` where no window reaches beyond the padding.
ir::Integer room_within_padding(const kernels::WindowSpec& spec, std::size_t axis,
                                const ir::Extent& input, const ir::Extent& kernel) {
  const kernels::WindowAxis w = kernels::axis_of(spec, axis, 0, 1);
  return ir::Integer(input) + w.begin + w.end - (ir::Integer(kernel) - 1) * w.dilation - 1;
}

}  // namespace

kernels::WindowSpec window_spec(const ir::Attributes& a) {
  return {a.ints("kernel_shape"),
          a.ints("strides"),
          a.ints("dilations"),
          a.ints("pads"),
          kernels::parse_auto_pad(a.s("auto_pad", "NOTSET")),
          a.flag("ceil_mode")};
}

ir::Integer window_room(const kernels::WindowSpec& spec, std::size_t axis, const ir::Extent& input,
                        const ir::Extent& kernel) {
  // SAME padding: one window for each multiple of the stride within the input.
  if (is_same_padding(spec)) return ir::Integer(input) - 1;
  const ir::Integer room = room_within_padding(spec, axis, input, kernel);
  return spec.ceil_mode ? room + kernels::axis_of(spec, axis, 0, 1).stride - 1 : room;
}

ir::Extent window_extent(const kernels::WindowSpec& spec, std::size_t axis, const ir::Extent& input,
                         const ir::Extent& kernel) {
  if (input.known() && kernel.known()) {
    const kernels::WindowAxis w = kernels::axis_of(spec, axis, input.value, kernel.value);
    return kernels::window_count(w, input.value, spec.ceil_mode);
  }
  const kernels::WindowAxis w = kernels::axis_of(spec, axis, 0, kernel.known() ? kernel.value : 1);
  if (is_same_padding(spec)) return ir::Extent(ceil_div(input, w.stride));
  const ir::Integer room = room_within_padding(spec, axis, input, kernel);
  if (!spec.ceil_mode) return ir::Extent(floor_div(room, w.stride) + 1);
  // The last window is left out if it begins after the input. If the end padding is longer than a
  // window, more than one window may begin there.
  if (!kernel.known() || w.end > w.reach()) return {};
  return ir::Extent(
      min(ceil_div(room, w.stride) + 1, ceil_div(ir::Integer(input) + w.begin, w.stride)));
}

}  // namespace rondel::ops
