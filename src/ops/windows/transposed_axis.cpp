#include "ops/windows/transposed_axis.h"

#include "base/error.h"
#include "ops/windows/windows.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Ints;

std::int64_t kernel_extent(const kernels::WindowSpec& spec, std::size_t axis, const Extent& w) {
  const std::int64_t given = spec.kernel.empty() ? -1 : spec.kernel[axis];
  require(given < 0 || !w.known() || given == w.value, "kernel_shape has {} where w has {}", given,
          w.value);
  return w.known() ? w.value : given;
}

}  // namespace

ir::Integer TransposedAxis::result(const Extent& in) const {
  if (output_shape >= 0) return output_shape;
  if (!in.known_or_symbolic()) return {};
  if (same) return ir::Integer(in) * stride;
  if (kernel < 0) return {};
  return (ir::Integer(in) - 1) * stride + output_padding + reach() - pad_begin - pad_end;
}

std::optional<std::int64_t> TransposedAxis::begin(const Extent& in) const {
  if (output_shape < 0 && !same) return pad_begin;
  if (kernel < 0 || (output_shape >= 0 && !in.known())) return std::nullopt;
  // With SAME padding, the result has `stride` elements for each element of x.
  const ir::Integer steps = output_shape < 0 ? 0 : ir::Integer(in) * stride - output_shape;
  const auto rest = (steps + output_padding + reach() - stride).number;
  if (!rest) return std::nullopt;
  const std::int64_t total = std::max<std::int64_t>(*rest, 0);
  return upper ? total / 2 : total - total / 2;
}

TransposedAxis transposed_axis(const ir::Attributes& a, std::size_t axis, std::size_t spatial,
                               const Extent& kernel) {
  const kernels::WindowSpec spec = window_spec(a);
  const auto at = [&](const char* list, std::int64_t otherwise) {
    const Ints given = a.ints(list);
    return given.empty() ? otherwise : given[given.size() - spatial + axis];
  };
  TransposedAxis t;
  t.kernel = kernel_extent(spec, axis, kernel);
  t.stride = spec.strides.empty() ? 1 : spec.strides[axis];
  t.dilation = spec.dilations.empty() ? 1 : spec.dilations[axis];
  t.output_padding = at("output_padding", 0);
  t.output_shape = at("output_shape", -1);
  t.upper = spec.auto_pad == kernels::AutoPad::same_upper;
  t.same = t.upper || spec.auto_pad == kernels::AutoPad::same_lower;
  if (spec.auto_pad == kernels::AutoPad::notset && !spec.pads.empty()) {
    t.pad_begin = spec.pads[axis];
    t.pad_end = spec.pads[axis + spec.pads.size() / 2];
  }
  return t;
}

}  // namespace rondel::ops
