#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <optional>

namespace rondel::ops {
namespace {

constexpr const char out_of_bounds_text[] =
    "along axis {} it takes {} elements from {} in steps of {}{}; expected all within the bounds";
constexpr const char extent_text[] = ", of an extent of {}";

using Lists = std::span<const std::optional<ir::Ints>, 3>;

/// The listed axes, counted from the front; an axis listed twice is an error.
ir::Ints axes_of(const ir::Attributes& a, std::int64_t rank) {
  ir::Ints axes = a.ints("axes");
  normal_axes(axes, rank);
  for (std::int64_t& axis : axes) axis = normal_axis(axis, rank);
  return axes;
}

/// Checks the k-th listed axis as far as the lists (starts, sizes, strides) and its extent are
/// known. With size 0 no element is read, so any start and stride are valid.
void require_inside(Lists lists, std::size_t k, std::int64_t axis, const ir::Extent& extent) {
  const auto &starts = lists[0], &sizes = lists[1], &strides = lists[2];
  if (!sizes) return;
  const std::int64_t size = (*sizes)[k];
  require(size >= 0, "along axis {} it takes {} elements; expected 0 or more", axis, size);
  if (size == 0 || !starts || !strides) return;
  const std::int64_t start = (*starts)[k], stride = (*strides)[k];
  const __int128 last = start + static_cast<__int128>(size - 1) * stride;
  const bool inside = start >= 0 && last >= 0 &&
                      (!extent.known() || (start < extent.value && last < extent.value));
  require(inside, out_of_bounds_text, axis, size, start, stride,
          extent.known() ? fmt::format(extent_text, extent.value) : "");
}

void strict_slice_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  const std::optional<ir::Ints> lists[3] = {c.integers(1), c.integers(2), c.integers(3)};
  const auto counted = c.elements(2);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const ir::Ints axes = axes_of(c.attributes(), x.rank());
  for (std::size_t k : {1U, 2U, 3U}) {
    require_dtype(c, k, DType::i64);
    require_rank(c, k, 1);
    const ir::Type& list = c.input(k);
    require(!list.has_rank() || !list.extent(0).known() || list.extent(0).value == std::ssize(axes),
            "input {} is {} for {} axes", k, to_text(list), axes.size());
  }
  ir::Extents extents = x.extents();
  bool takes_all = true;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    ir::Extent& extent = extents[static_cast<std::size_t>(axes[k])];
    require_inside(lists, k, axes[k], extent);
    const ir::Extent size(counted ? counted->at(k) : ir::Integer());
    takes_all = takes_all && lists[0] && lists[2] && (*lists[0])[k] == 0 && (*lists[2])[k] == 1 &&
                size == extent;
    extent = size;
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  if (takes_all) c.same(0, 0);
}

std::optional<std::vector<Tensor>> taken_view(const ir::Attributes& a,
                                              std::span<const Value> inputs,
                                              std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  const ir::Ints axes = axes_of(a, x.rank()), starts = ir::integers_of(inputs[1].tensor()),
                 steps = ir::integers_of(inputs[3].tensor());
  Shape strides = x.strides();
  std::int64_t offset = 0;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    const std::int64_t size = shapes[0][axis];
    if (size > 0) offset += starts[k] * strides[axis];
    if (size > 1) strides[axis] *= steps[k];  // with fewer elements any step is valid
  }
  return std::vector<Tensor>{x.strided(x.size() > 0 ? offset : 0, shapes[0], std::move(strides))};
}

/// Writes the checks of `require_inside` for all axes. They run once, before all elements. The
/// sizes are the extents of the result.
void check_inside(Emitter& e) {
  scalar::Builder& p = e.builder();
  const ir::Ints axes = axes_of(e.attributes(), e.rank(0));
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const Ex size = e.output_extent(0, axes[k]), extent = e.extent(0, axes[k]);
    const Ex start = known_or_read(e, 1, k), stride = known_or_read(e, 3, k);
    // Compares numbers of steps to the edge of x, so that no product can overflow.
    const Ex room = select(stride > 0, extent - 1 - start, start);
    const Ex step = select(stride > 0, stride, select(stride < 0, -stride, p.index(1)));
    const Ex far = (stride == 0) | (size - 1 <= room / step);
    const Ex holds = (size == 0) | ((start >= 0) & (start < extent) & far);
    // The text of a check has at most four values; in a loop the first value is the trip number.
    if (const auto by = p.known(stride))
      p.check(holds, fmt::format(out_of_bounds_text, axes[k], "{}", "{}", *by, extent_text),
              {size, start, extent});
    else
      p.check(holds, fmt::format(out_of_bounds_text, axes[k], "{}", "{}", "{}", ""),
              {size, start, stride});
  }
}

Ex taken_element(Emitter& e, std::size_t, const Indices& out) {
  const ir::Ints axes = axes_of(e.attributes(), e.rank(0));
  Indices in = out;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const auto axis = static_cast<std::size_t>(axes[k]);
    in[axis] = out[axis] * known_or_read(e, 3, k) + known_or_read(e, 1, k);
  }
  return e.load(0, in);
}

std::vector<ir::ValueId> strict_slice_gradient(ir::Builder& b, const ir::Node& node,
                                               std::span<const ir::ValueId> adjoints) {
  ir::Ints axes = node.attributes.ints("axes");
  std::vector<ir::ValueId> positions, result(node.inputs.size(), ir::ValueId::none);
  for (std::size_t k = 0; k < axes.size(); ++k) {
    axes[k] = axis_from_end(b, node.inputs[0], axes[k]);
    const auto at = [&](std::size_t list) {
      return integer_at(b, node.inputs[list], static_cast<std::int64_t>(k));
    };
    positions.push_back(b("add", {at(1), b("mul", {iota(b, at(2)), at(3)})}));
  }
  result[0] = scatter_adjoint(b, adjoints[0], node.inputs[0], axes, positions);
  return result;
}

const ir::OpEntry strict_slice{{
    .name = "strict_slice",
    .doc = "element i of y is x[start + i * stride], along each of the axes; outside x is an error",
    .inputs = {{"x"}, {"starts"}, {"sizes"}, {"strides"}},
    .required = {"axes"},
    .type = strict_slice_rule,
    .meaning = slice_view(taken_view, taken_element, {1, 3}, check_inside),
    .value_inputs = {1, 2, 3},
    .can_fail = true,
    .gradient = strict_slice_gradient,
}};

}  // namespace
}  // namespace rondel::ops
