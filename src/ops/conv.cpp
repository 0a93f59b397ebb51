#include "kernels/conv.h"
#include "base/error.h"
#include "ops/batching.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"
#include "ops/window_gradients.h"
#include "ops/windows.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Type;

kernels::ConvSpec spec_of(const ir::Attributes& a) { return {window_spec(a), a.i("group", 1)}; }

void check_channels(const Type& x, const Type& w, std::int64_t groups) {
  require(groups >= 1, "group is {}; expected 1 or more", groups);
  const std::int64_t channels = x.extent(1).value, per_group = w.extent(1).value;
  require(channels < 0 || per_group < 0 || channels == per_group * groups,
          "x has {} channels; w expects {} of them ({} in each of {} groups)", channels,
          per_group * groups, per_group, groups);
  require(w.extent(0).value < 0 || w.extent(0).value % groups == 0,
          "w makes {} channels, which {} groups do not divide", w.extent(0).value, groups);
}

void conv_rule(ir::TypeContext& c) {
  for (std::size_t k = 0; k < c.input_count(); ++k)
    if (c.has(k)) require_same_dtype(c, 0, k);
  const Type &x = c.input(0), &w = c.input(1);
  if (c.has(2)) require_rank(c, 2, 1);
  if (!x.has_rank() && !w.has_rank()) return c.output(0, Type::unranked(x.dtype()));
  const std::int64_t rank = x.has_rank() ? x.rank() : w.rank();
  require(rank >= 2, "input 0 is {}; expected [n, channels, spatial...]", to_text(x));
  require_rank(c, 0, rank);
  require_rank(c, 1, rank);
  const kernels::ConvSpec spec = spec_of(c.attributes());
  check(spec.window, static_cast<std::size_t>(rank - 2));
  if (!x.has_rank() || !w.has_rank()) return c.output(0, Type::ranked(x.dtype(), rank));
  check_channels(x, w, spec.groups);
  if (c.has(2) && c.input(2).has_rank()) {
    const std::int64_t n = c.input(2).extent(0).value, m = w.extent(0).value;
    require(n < 0 || m < 0 || n == m, "bias has {} elements for {} channels", n, m);
  }
  ir::Extents out{x.extent(0), w.extent(0)};
  ir::Integers rooms;
  for (std::int64_t a = 2; a < rank; ++a) {
    const auto axis = static_cast<std::size_t>(a - 2);
    const std::int64_t given = spec.window.kernel.empty() ? -1 : spec.window.kernel[axis];
    const Extent kernel = w.extent(a).known() || given < 0 ? w.extent(a) : Extent(given);
    require(given < 0 || given == kernel.value, "kernel_shape has {} where w has {}", given,
            kernel.value);
    out.push_back(window_extent(spec.window, axis, x.extent(a), kernel));
    rooms.push_back(window_room(spec.window, axis, x.extent(a), kernel));
  }
  const auto is_channels = [&](const Type& b) {
    return b.has_rank() && b.extent(0) == w.extent(0);
  };
  const bool same_kernel = spec.window.kernel.empty() ||
                           std::all_of(w.extents().begin() + 2, w.extents().end(),
                                       [](const Extent& e) { return e.known(); });
  if (x.extent(1).known() && w.extent(0).known() && w.extent(1).known() && same_kernel &&
      (!c.has(2) || is_channels(c.input(2))))
    c.holds_while(rooms);
  c.output(0, Type::tensor(x.dtype(), std::move(out)));
}

std::size_t rank_of(std::span<const Type> inputs) {
  return static_cast<std::size_t>(inputs[0].rank());
}

SizedKernelMeaning::Kernel reference(const ir::Node& node, std::span<const Type> inputs) {
  return kernels::conv(spec_of(node.attributes), inputs[0].dtype(), rank_of(inputs));
}

SizedKernelMeaning::Kernel fast(const ir::Node& node, std::span<const Type> inputs) {
  if (inputs[0].dtype() != DType::f32) return nullptr;
  return kernels::fast_conv(spec_of(node.attributes), rank_of(inputs));
}

const ir::OpEntry conv_op{{
    .name = "conv",
    .doc = "y = the convolution of x with the kernels w over its spatial axes, plus a bias",
    .inputs = {{"x"}, {"w"}, {"b", ir::InputDef::optional}},
    .attributes = {{"auto_pad", "NOTSET"},
                   {"dilations", ir::Ints{}},
                   {"group", 1},
                   {"kernel_shape", ir::Ints{}},
                   {"pads", ir::Ints{}},
                   {"strides", ir::Ints{}}},
    .type = floats_only(conv_rule),
    .meaning = kernel(reference, fast),
    .batch = merged_into_first_axis,
    .gradient = conv_gradient,
}};

}  // namespace
}  // namespace rondel::ops
