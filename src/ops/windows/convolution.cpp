#include "ops/windows/convolution.h"

#include "base/error.h"
#include "ops/type_rules.h"
#include "ops/windows/windows.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Type;

void check_channels(const Type& x, const Type& w, std::int64_t groups) {
  require(groups >= 1, "group is {}; expected 1 or more", groups);
  const std::int64_t channels = x.extent(1).value, per_group = w.extent(1).value;
  require(channels < 0 || per_group < 0 || channels == per_group * groups,
          "x has {} channels; w expects {} of them ({} in each of {} groups)", channels,
          per_group * groups, per_group, groups);
  require(w.extent(0).value < 0 || w.extent(0).value % groups == 0,
          "w makes {} channels, which {} groups do not divide", w.extent(0).value, groups);
}

}  // namespace

ir::Attributes convolution_attributes() {
  return {{"auto_pad", "NOTSET"},       {"dilations", ir::Ints{}}, {"group", 1},
          {"kernel_shape", ir::Ints{}}, {"pads", ir::Ints{}},      {"strides", ir::Ints{}}};
}

kernels::ConvSpec convolution_spec(const ir::Attributes& a) {
  return {window_spec(a), a.i("group", 1)};
}

bool fits_output_channels(const ir::TypeContext& c, std::size_t k, std::size_t kernels,
                          std::string_view what) {
  const Type &given = c.input(k), &w = c.input(kernels);
  if (!given.has_rank() || !w.has_rank() || w.rank() == 0) return false;
  const Extent &n = given.extent(0), &m = w.extent(0);
  require(!n.known() || !m.known() || n.value == m.value, "{} has {} elements for {} channels",
          what, n.value, m.value);
  return n == m;
}

bool fits_whole_or_channels(const ir::TypeContext& c, std::size_t k, std::size_t kernels,
                            std::string_view what) {
  const Type& given = c.input(k);
  if (!given.has_rank()) return false;
  require(given.rank() <= 1, "{} is {}; expected one element, or one for each output channel", what,
          to_text(given));
  if (given.rank() == 0 || given.extent(0) == Extent(1)) return true;
  return given.extent(0).known() && fits_output_channels(c, k, kernels, what);
}

void convolution_rule(ir::TypeContext& c, std::size_t kernels, DType result, bool others_fit) {
  const Type& x = c.input(0);
  if (x.has_rank() && x.rank() >= 2) require_rank(c, kernels, x.rank());
  convolution_rule(c, c.input(kernels), result, others_fit);
}

void convolution_rule(ir::TypeContext& c, const Type& w, DType result, bool others_fit) {
  const Type& x = c.input(0);
  if (!x.has_rank() && !w.has_rank()) return c.output(0, Type::unranked(result));
  const std::int64_t rank = x.has_rank() ? x.rank() : w.rank();
  require(rank >= 2, "input 0 is {}; expected [n, channels, spatial...]", to_text(x));
  require_rank(c, 0, rank);
  const auto spec = convolution_spec(c.attributes());
  check(spec.window, static_cast<std::size_t>(rank - 2));
  if (!x.has_rank() || !w.has_rank()) return c.output(0, Type::ranked(result, rank));
  check_channels(x, w, spec.groups);
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
  const bool same_kernel = spec.window.kernel.empty() ||
                           std::all_of(w.extents().begin() + 2, w.extents().end(),
                                       [](const Extent& e) { return e.known(); });
  if (x.extent(1).known() && w.extent(0).known() && w.extent(1).known() && same_kernel &&
      others_fit)
    c.holds_while(rooms);
  c.output(0, Type::tensor(result, std::move(out)));
}

}  // namespace rondel::ops
