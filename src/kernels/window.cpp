#include "kernels/window.h"

#include "base/checked.h"

#include <algorithm>

namespace rondel::kernels {
namespace {

/// The largest attribute value, so that reaches and sums of pads cannot overflow.
constexpr std::int64_t most = std::int64_t{1} << 31;

std::int64_t or_else(const std::vector<std::int64_t>& list, std::size_t i, std::int64_t otherwise) {
  return list.empty() ? otherwise : list[i];
}

void check_list(const std::vector<std::int64_t>& list, std::size_t count, std::int64_t least,
                const char* what) {
  require(list.empty() || list.size() == count, "{} has {} elements; expected {}", what,
          list.size(), count);
  for (const std::int64_t x : list)
    require(x >= least && x <= most, "{} has {}; expected {} to {}", what, x, least, most);
}

}  // namespace

AutoPad parse_auto_pad(const std::string& text) {
  if (text.empty() || text == "NOTSET") return AutoPad::notset;
  if (text == "VALID") return AutoPad::valid;
  if (text == "SAME_UPPER") return AutoPad::same_upper;
  require(text == "SAME_LOWER",
          "auto_pad is '{}'; expected NOTSET, VALID, SAME_UPPER or SAME_LOWER", text);
  return AutoPad::same_lower;
}

void check(const WindowSpec& s, std::size_t spatial) {
  check_list(s.kernel, spatial, 1, "kernel_shape");
  check_list(s.strides, spatial, 1, "strides");
  check_list(s.dilations, spatial, 1, "dilations");
  check_list(s.pads, 2 * spatial, 0, "pads");
}

WindowAxis axis_of(const WindowSpec& s, std::size_t axis, std::int64_t extent,
                   std::int64_t kernel) {
  WindowAxis w{kernel, or_else(s.strides, axis, 1), or_else(s.dilations, axis, 1)};
  const std::int64_t reach = checked_add(checked_mul(kernel - 1, w.dilation, "window"), 1,
                                         "window");
  if (s.auto_pad == AutoPad::notset) {
    w.begin = or_else(s.pads, axis, 0);
    w.end = or_else(s.pads, axis + s.pads.size() / 2, 0);
  } else if (s.auto_pad != AutoPad::valid) {
    const std::int64_t count = divide_up(extent, w.stride);
    const std::int64_t last = (count - 1) * w.stride;
    const std::int64_t total = std::max<std::int64_t>(checked_add(last - extent, reach), 0);
    const std::int64_t less = total / 2;
    w.begin = s.auto_pad == AutoPad::same_upper ? less : total - less;
    w.end = total - w.begin;
  }
  return w;
}

std::int64_t window_count(const WindowAxis& w, std::int64_t extent, bool ceil_mode) {
  const std::int64_t padded = checked_add(extent, checked_add(w.begin, w.end, "pads"),
                                          "padded axis");
  const std::int64_t room = padded - w.reach();
  const std::int64_t beyond = ceil_mode ? w.stride - 1 : 0;
  require(room + beyond >= 0,
          "a window that reaches over {} does not fit into {} with pads {} and {}", w.reach(),
          extent, w.begin, w.end);
  if (!ceil_mode) return room / w.stride + 1;
  const std::int64_t count = divide_up(room, w.stride) + 1;
  // The last window must begin inside the input or the padding before it.
  return count - 1 >= divide_up(extent + w.begin, w.stride) ? count - 1 : count;
}

}  // namespace rondel::kernels
