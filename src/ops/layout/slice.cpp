#include "base/error.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace rondel::ops {
namespace {

/// The start and the step of a slice along an axis, and the number of elements it takes.
struct Range {
  std::int64_t start = 0, step = 1, count = 0;
};

/// Negative starts and ends count from the end. Forwards, both are then clamped to [0, extent].
/// Backwards, the end is clamped to [-1, extent - 1] and the start to an element, so that, other
/// than in NumPy, a start before the first element takes that one.
Range range_of(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t extent) {
  const auto clamp = [&](std::int64_t v, std::int64_t low, std::int64_t high) {
    return std::clamp(v < 0 ? (v < -extent ? low : v + extent) : v, low, high);
  };
  Range r{0, step, 0};
  if (step > 0) {
    r.start = clamp(start, 0, extent);
    const std::int64_t stop = clamp(end, 0, extent);
    r.count = stop > r.start ? (stop - r.start - 1) / step + 1 : 0;
  } else {
    r.start = extent > 0 ? clamp(start, 0, extent - 1) : -1;
    const std::int64_t stop = clamp(end, -1, extent - 1);
    // For the least integer, -step overflows. No extent is that large, so one element is taken.
    const std::int64_t back = step == std::numeric_limits<std::int64_t>::min() ? extent + 1 : -step;
    r.count = r.start > stop ? (r.start - stop - 1) / back + 1 : 0;
    if (r.count <= 1) r.step = -1;
  }
  if (r.count <= 1 && step > 0) r.step = 1;
  return r;
}

/// The integer operands, with one element for each listed axis of x. Other axes are taken in full.
struct Bounds {
  ir::Ints starts, ends, steps, axes;
};
Bounds bounds_of(ir::Ints starts, ir::Ints ends, const std::optional<ir::Ints>& axes,
                 const std::optional<ir::Ints>& steps, std::int64_t rank) {
  Bounds b{std::move(starts), std::move(ends), {}, {}};
  const std::size_t n = b.starts.size();
  b.steps = steps.value_or(ir::Ints(n, 1));
  if (axes) {
    for (const std::int64_t a : *axes) b.axes.push_back(normal_axis(a, rank));
  } else {
    b.axes.resize(n);
    std::iota(b.axes.begin(), b.axes.end(), 0);
  }
  require(b.ends.size() == n && b.axes.size() == n && b.steps.size() == n,
          "{} starts, {} ends, {} axes and {} steps; expected as many of each", n, b.ends.size(),
          b.axes.size(), b.steps.size());
  for (std::size_t i = 0; i < n; ++i) {
    require(b.steps[i] != 0, "the step along axis {} is 0", b.axes[i]);
    require(b.axes[i] < rank, "there are {} starts for a tensor of rank {}", n, rank);
    require(std::count(b.axes.begin(), b.axes.end(), b.axes[i]) == 1, "axis {} is named twice",
            b.axes[i]);
  }
  return b;
}

/// States the elements of the result if x is a short list of integers.
void slice_elements(ir::TypeContext& c, const Bounds& b) {
  const auto list = c.input(0).rank() == 1 ? c.elements(0) : std::nullopt;
  if (!list || b.axes.size() != 1) return;
  const Range r = range_of(b.starts[0], b.ends[0], b.steps[0], std::ssize(*list));
  ir::Integers sliced;
  for (std::int64_t i = 0; i < r.count; ++i)
    sliced.push_back((*list)[static_cast<std::size_t>(r.start + i * r.step)]);
  c.set_elements(0, std::move(sliced));
}

/// Whether a slice takes all of an axis, whatever its extent.
enum class AxisCoverage : std::uint8_t { some, all, all_backwards };

/// The coverage of the k-th listed axis, as far as the operands are known.
AxisCoverage coverage_of(const ir::TypeContext& c, std::size_t k, const ir::Extent& extent) {
  using Limits = std::numeric_limits<std::int64_t>;
  const auto starts = c.integers(1), ends = c.integers(2);
  const auto steps = c.has(4) ? c.integers(4) : ir::Ints(k + 1, 1);
  const auto counted = c.elements(2);
  if (!starts || !steps || !counted ||
      k >= std::min({starts->size(), steps->size(), counted->size()}))
    return AxisCoverage::some;
  const std::int64_t start = starts->at(k), step = steps->at(k);
  if (step == -1 && start == -1 && ends && ends->at(k) == Limits::min())
    return AxisCoverage::all_backwards;
  const bool to_the_end = (ends && ends->at(k) == Limits::max()) || counted->at(k) == extent;
  return step == 1 && start == 0 && to_the_end ? AxisCoverage::all : AxisCoverage::some;
}

/// No extent is larger than this. Sums of extents and larger numbers could overflow.
constexpr std::int64_t furthest = std::numeric_limits<std::int64_t>::max() / 2;

/// The start or end `v` counted from the front and clamped to [least, most]. Unknown if the sign of
/// `v` is unknown.
ir::Integer from_front(const ir::TypeContext& c, const ir::Integer& v, const ir::Extent& extent,
                       const ir::Integer& least, const ir::Integer& most) {
  if (v.at_least(furthest)) return most;
  if (v.at_most(-furthest)) return least;
  if (c.never_negative(v)) return c.never_negative(most - v) ? v : min(v, most);
  return v.at_most(-1) ? max(v + extent, least) : ir::Integer();
}

/// Element k of input `of`, a start or an end, on an axis that is walked forwards.
ir::Integer position(const ir::TypeContext& c, std::size_t of, std::size_t k,
                     const ir::Extent& extent) {
  const ir::Integer known = from_front(c, (*c.elements(of))[k], extent, 0, extent);
  return known.known_or_symbolic() ? known : c.position(of, k, extent);
}

/// The number of elements taken along the k-th listed axis, as far as the operands are known.
ir::Extent count_along(const ir::TypeContext& c, std::size_t k, const ir::Extent& extent) {
  const auto starts = c.elements(1), ends = c.elements(2);
  const auto steps = c.has(4) ? c.integers(4) : ir::Ints(k + 1, 1);
  if (!starts || !ends || !steps || k >= std::min({starts->size(), ends->size(), steps->size()}) ||
      steps->at(k) == 0 || steps->at(k) == std::numeric_limits<std::int64_t>::min())
    return {};
  const ir::Integer &start = starts->at(k), &end = ends->at(k);
  const std::int64_t step = steps->at(k);
  if (extent.known() && start.known() && end.known())
    return range_of(*start.number, *end.number, step, extent.value).count;
  if (step > 0) {
    // A start beyond the extent takes no element, just as a start at the extent: no clamp is
    // needed.
    const ir::Integer first = c.never_negative(start) && !start.at_least(furthest)
                                  ? start
                                  : position(c, 1, k, extent);
    return ir::Extent(ceil_div(max(position(c, 2, k, extent) - first, 0), step));
  }
  const ir::Integer last = ir::Integer(extent) - 1;
  const ir::Integer distance = from_front(c, start, extent, min(last, 0), last) -
                               from_front(c, end, extent, -1, last);
  return ir::Extent(ceil_div(max(distance, 0), -step));
}

/// Whether the rule accepts any values of the starts and ends. Throws if their numbers are wrong.
bool is_certain(const ir::TypeContext& c, const ir::Ints& axes) {
  const auto starts = c.elements(1), ends = c.elements(2);
  const auto steps = c.has(4) ? c.integers(4) : ir::Ints(axes.size(), 1);
  if (!starts || !ends || !steps) return false;
  const ir::Ints any(starts->size(), 0);
  bounds_of(any, ir::Ints(ends->size(), 0), axes, steps, c.input(0).rank());
  return true;
}

/// The type rule if some operands are not fully known. Axes taken in full keep their extents.
void partly_known_slice_rule(ir::TypeContext& c, const ir::Ints& axes) {
  const ir::Type& x = c.input(0);
  ir::Extents extents = x.extents();
  bool takes_all = true;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    ir::Extent& e = extents[static_cast<std::size_t>(normal_axis(axes[k], x.rank()))];
    const AxisCoverage coverage = coverage_of(c, k, e);
    takes_all = takes_all && coverage == AxisCoverage::all;
    if (coverage == AxisCoverage::some) e = count_along(c, k, e);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  if (is_certain(c, axes)) c.holds_while();
  if (takes_all) c.same(0, 0);
}

/// The axes if none are listed: the leading axes, one for each start.
std::optional<ir::Ints> first_axes(const ir::TypeContext& c) {
  const auto starts = c.elements(1);
  if (c.has(3) || !starts || std::ssize(*starts) > c.input(0).rank()) return std::nullopt;
  ir::Ints axes(starts->size());
  std::iota(axes.begin(), axes.end(), 0);
  return axes;
}

void slice_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const auto starts = c.integers(1), ends = c.integers(2);
  const auto axes = c.has(3) ? c.integers(3) : std::nullopt;
  const auto steps = c.has(4) ? c.integers(4) : std::nullopt;
  if (!starts || !ends || (c.has(3) && !axes) || (c.has(4) && !steps)) {
    if (const auto some = axes ? axes : first_axes(c)) return partly_known_slice_rule(c, *some);
    return c.output(0, ir::Type::ranked(x.dtype(), x.rank()));
  }
  const Bounds b = bounds_of(*starts, *ends, axes, steps, x.rank());
  ir::Extents extents = x.extents();
  bool takes_all = true;
  for (std::size_t k = 0; k < b.axes.size(); ++k) {
    ir::Extent& e = extents[static_cast<std::size_t>(b.axes[k])];
    const AxisCoverage coverage = coverage_of(c, k, e);
    takes_all = takes_all && coverage == AxisCoverage::all;
    if (e.known()) e = range_of(b.starts[k], b.ends[k], b.steps[k], e.value).count;
    else if (coverage == AxisCoverage::some) e = count_along(c, k, e);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  slice_elements(c, b);
  c.holds_while();
  if (takes_all) c.same(0, 0);
}

std::optional<std::vector<Tensor>> sliced_view(const ir::Attributes&, std::span<const Value> inputs,
                                               std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  const auto list = [&](std::size_t k) -> std::optional<ir::Ints> {
    if (k >= inputs.size() || !inputs[k].defined()) return std::nullopt;
    return ir::integers_of(inputs[k].tensor());
  };
  const Bounds b = bounds_of(*list(1), *list(2), list(3), list(4), x.rank());
  Shape strides = x.strides();
  std::int64_t offset = 0;
  for (std::size_t i = 0; i < b.axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(b.axes[i]);
    const Range r = range_of(b.starts[i], b.ends[i], b.steps[i], x.shape()[a]);
    if (r.count > 0) offset += r.start * strides[a];
    strides[a] *= r.step;
  }
  return std::vector<Tensor>{x.strided(x.size() > 0 ? offset : 0, shapes[0], std::move(strides))};
}

/// Works for any extents, so that one program serves all shapes.
Ex sliced_element(Emitter& e, std::size_t, const Indices& out) {
  const auto list = [&](std::size_t k) -> std::optional<ir::Ints> {
    if (!e.has(k)) return std::nullopt;
    return known_integers(e, k);
  };
  const auto axes = list(3);
  const std::int64_t count = axes ? std::ssize(*axes) : e.input(1).extent(0).value;
  if (count < 0) unsupported("a slice whose number of axes is unknown");
  // Unknown starts are loaded at run time; ends affect only the extents.
  const ir::Ints any(static_cast<std::size_t>(count), 0);
  const Bounds b = bounds_of(any, any, axes, list(4), e.rank(0));
  scalar::Builder& p = e.builder();
  Indices in = out;
  for (std::size_t i = 0; i < b.axes.size(); ++i) {
    const auto a = static_cast<std::size_t>(b.axes[i]);
    const Ex extent = e.extent(0, b.axes[i]);
    const Ex given = known_or_read(e, 1, i);
    const bool forward = b.steps[i] > 0;
    const bool known = p.known(given).value_or(-1) >= 0;
    Ex low = p.index(0), high = forward ? extent : extent - 1;
    const Ex counted = known
                           ? given
                           : select(given < 0, select(given < -extent, low, given + extent), given);
    // No element outside of x is read, whatever the start.
    const Ex span = (e.output_extent(0, b.axes[i]) - 1) * b.steps[i];
    if (!known && forward) high = extent - 1 - span;
    if (!known && !forward) low = -span;
    const Ex start = scalar::max(low, scalar::min(counted, high));
    in[a] = start + out[a] * b.steps[i];
  }
  return e.load(0, in);
}

/// Whether all starts are certainly 0 and all steps 1.
bool takes_beginning(const ir::Graph& g, const ir::Node& node) {
  const auto all_are = [&](std::size_t k, std::int64_t number) {
    const Tensor* t = g.constant(node.inputs[k]);
    return t != nullptr &&
           std::ranges::all_of(ir::integers_of(*t), [&](std::int64_t i) { return i == number; });
  };
  return all_are(1, 0) && (!has_input(node, 4) || all_are(4, 1));
}

std::vector<ir::ValueId> batched_slice(ir::Builder& b, const ir::Node& node,
                                       std::span<const ir::Batch> inputs) {
  const auto rank = element_rank(b, inputs[0]);
  if (!stacked_first(inputs) || !rank || inputs.size() < 4) return {};
  const auto axes = axes_from_end(b, inputs[3].value, *rank);
  if (!axes) return {};
  std::vector<ir::ValueId> operands = values_of(inputs);
  operands[3] = *axes;
  return same_call(b, node, std::move(operands), node.attributes);
}

/// The listed axes, counted from the end; nothing if they are not known, or if another list has
/// another length, so that the run refuses the node.
std::optional<ir::Ints> sliced_axes(const ir::Builder& b, const ir::Node& node) {
  const bool ranked = b.graph().value(node.inputs[0]).type.has_rank();
  auto axes = constant_integers(b, node, 3);
  if (!axes) {
    const ir::Type& starts = b.graph().value(node.inputs[1]).type;
    if (has_input(node, 3) || !starts.has_rank() || starts.rank() != 1 || !starts.extent(0).known())
      return std::nullopt;
    axes.emplace(static_cast<std::size_t>(starts.extent(0).value));
    std::iota(axes->begin(), axes->end(), 0);
  }
  for (const std::size_t list : {1, 2, 4})
    if (const auto known = constant_integers(b, node, list); known && known->size() != axes->size())
      return std::nullopt;
  for (std::int64_t& axis : *axes) {
    if (axis >= 0 && !ranked) return std::nullopt;
    axis = axis_from_end(b, node.inputs[0], axis);
  }
  return axes;
}

/// The pads with zeros that turn the adjoint of a slice into the adjoint of x: the pads before each
/// axis, then those after each axis. None if a step is not 1, or where the slice begins is not
/// known.
ir::ValueId pads_around_slice(ir::Builder& b, const ir::Node& node, ir::ValueId adjoint,
                              const ir::Ints& axes) {
  const auto starts = constant_integers(b, node, 1), ends = constant_integers(b, node, 2);
  const auto steps = has_input(node, 4) ? constant_integers(b, node, 4) : ir::Ints(axes.size(), 1);
  const auto is_one = [](std::int64_t step) { return step == 1; };
  if (!starts || !steps || !std::ranges::all_of(*steps, is_one)) return ir::ValueId::none;
  const ir::Type x = b.graph().value(node.inputs[0]).type;
  std::vector<ir::ValueId> before, after;
  for (std::size_t k = 0; k < axes.size(); ++k) {
    const std::int64_t first = (*starts)[k];
    if (ends && x.has_rank() && x.extent(axes[k] + x.rank()).known()) {
      const std::int64_t extent = x.extent(axes[k] + x.rank()).value;
      const Range r = range_of(first, (*ends)[k], 1, extent);
      before.push_back(b.integers({r.start}));
      after.push_back(b.integers({extent - r.start - r.count}));
      continue;
    }
    const ir::ValueId extent = extent_of(b, node.inputs[0], axes[k]), start = b.integers({first});
    before.push_back(first >= 0 ? b("min", {extent, start})
                                : b("max", {b("add", {extent, start}), b.integers({0})}));
    after.push_back(b("sub", {b("sub", {extent, before.back()}), extent_of(b, adjoint, axes[k])}));
  }
  before.insert(before.end(), after.begin(), after.end());
  return joined_integers(b, before);
}

/// The positions that the slice takes along `axis` of x, which is the k-th listed axis.
ir::ValueId sliced_positions(ir::Builder& b, const ir::Node& node, std::int64_t axis,
                             std::int64_t k) {
  const ir::ValueId all = iota(b, extent_of(b, node.inputs[0], axis));
  std::vector<ir::ValueId> operands{all, integer_at(b, node.inputs[1], k),
                                    integer_at(b, node.inputs[2], k), b.integers({0})};
  if (has_input(node, 4)) operands.push_back(integer_at(b, node.inputs[4], k));
  return b("slice", std::move(operands));
}

std::vector<ir::ValueId> slice_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> result(node.inputs.size(), ir::ValueId::none);
  const auto axes = sliced_axes(b, node);
  if (!axes) {
    result[0] = scatter_by_positions(b, adjoints[0], node.inputs[0], [&](ir::ValueId positions) {
      std::vector<ir::ValueId> operands = node.inputs;
      operands[0] = positions;
      return b("slice", std::move(operands));
    });
    return result;
  }
  if (const ir::ValueId pads = pads_around_slice(b, node, adjoints[0], *axes);
      pads != ir::ValueId::none) {
    result[0] = b("pad", {adjoints[0], pads, ir::ValueId::none, b.integers(*axes)});
    return result;
  }
  std::vector<ir::ValueId> positions;
  for (std::size_t k = 0; k < axes->size(); ++k)
    positions.push_back(sliced_positions(b, node, axes->at(k), static_cast<std::int64_t>(k)));
  result[0] = scatter_adjoint(b, adjoints[0], node.inputs[0], *axes, positions);
  return result;
}

const ir::OpEntry slice{{
    .name = "slice",
    .doc = "y = x[start:end:step, ...] along the axes listed",
    .inputs = {{"x"},
               {"starts"},
               {"ends"},
               {"axes", ir::InputDef::optional},
               {"steps", ir::InputDef::optional}},
    .type = slice_rule,
    .meaning = slice_view(sliced_view, sliced_element, {1}, nullptr, takes_beginning),
    .value_inputs = {1, 2, 3, 4},
    .program_values = {1, 3, 4},
    .can_fail = unless_known({1, 2, 3, 4}),
    .batch = batched_slice,
    .gradient = slice_gradient,
}};

}  // namespace
}  // namespace rondel::ops
