#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::Ints;

/// The number of spatial axes: the length of the lists in the attributes.
std::int64_t spatial_count(const ir::Attributes& a) { return std::ssize(a.ints("strides")); }

void sum_of_windows_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  const ir::Attributes& a = c.attributes();
  const std::int64_t spatial = spatial_count(a);
  for (const char* list : {"dilations", "begins"})
    require(std::ssize(a.ints(list)) == spatial, "{} and strides differ in length", list);
  for (const char* list : {"dilations", "strides"})
    for (const std::int64_t n : a.ints(list))
      require(n >= 1, "{} has {}; expected 1 or more", list, n);
  require_rank(c, 0, 2 + 2 * spatial);
  const ir::Type& x = c.input(0);
  ir::Extents out(static_cast<std::size_t>(2 + spatial));
  if (x.has_rank()) std::copy_n(x.extents().begin(), 2, out.begin());
  const auto extents = c.elements(1);
  require(!extents || std::ssize(*extents) == spatial, "there are {} extents for {} spatial axes",
          extents ? extents->size() : 0, spatial);
  for (std::size_t k = 0; extents && k < extents->size(); ++k) {
    const std::int64_t number = (*extents)[k].number.value_or(0);
    require(number >= 0, "extent {} of the result; expected 0 or more", number);
    out[k + 2] = ir::Extent((*extents)[k]);
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

/// The windows i of one axis whose element k is on the axis of the result: from `first` to `end`.
/// Element k of window i is at i * stride + offset.
struct WindowsInside {
  Ex first, end, offset;
};
WindowsInside windows_inside(Emitter& e, std::int64_t axis, std::int64_t spatial, Ex k) {
  const ir::Attributes& a = e.attributes();
  const auto at = static_cast<std::size_t>(axis);
  const std::int64_t stride = a.ints("strides")[at];
  const Ex offset = k * a.ints("dilations")[at] - a.ints("begins")[at];
  const Ex zero = e.builder().index(0);
  const auto steps = [&](Ex n) { return select(n > 0, (n + (stride - 1)) / stride, zero); };
  const Ex end = scalar::min(e.extent(0, 2 + spatial + axis),
                             steps(e.output_extent(0, 2 + axis) - offset));
  return {steps(zero - offset), end, offset};
}

void add_windows(Emitter& e) {
  scalar::Builder& b = e.builder();
  const Ints strides = e.attributes().ints("strides");
  const std::int64_t spatial = std::ssize(strides);
  const BufferPart to = e.output_buffer(0);
  const Indices planes{e.extent(0, 0), e.extent(0, 1)};
  Indices out_extents = output_extents_of(e, 0);
  out_extents.erase(out_extents.begin(), out_extents.begin() + 2);
  const auto joined = [](Indices x, const Indices& y) {
    x.insert(x.end(), y.begin(), y.end());
    return x;
  };
  const auto add = [&](const Indices& plane, const Indices& element, const Indices& window,
                       const Indices& position) {
    const Indices at = joined(plane, position);
    const Ex old = b.load(to.buffer, joined(to.leading, at));
    e.store(0, at, old + e.load(0, joined(joined(plane, element), window)));
  };
  // Each window adds to other positions than the windows before it, but elements of windows may
  // share a position: only the loops over windows are independent.
  std::function<void(const Indices&, const Indices&, const std::vector<WindowsInside>&, Indices,
                     Indices)>
      windows = [&](const Indices& plane, const Indices& element,
                    const std::vector<WindowsInside>& inside, Indices window, Indices position) {
        const std::size_t axis = window.size();
        if (axis == inside.size()) return add(plane, element, window, position);
        b.for_each(inside[axis].first, inside[axis].end, [&](Ex i) {
          windows(plane, element, inside, joined(window, {i}),
                  joined(position, {i * strides[axis] + inside[axis].offset}));
        });
      };
  std::function<void(const Indices&, Indices, std::vector<WindowsInside>)> elements =
      [&](const Indices& plane, Indices element, std::vector<WindowsInside> inside) {
        const auto axis = static_cast<std::int64_t>(element.size());
        if (axis == spatial) return windows(plane, element, inside, {}, {});
        b.for_each(
            b.index(0), e.extent(0, 2 + axis),
            [&](Ex k) {
              std::vector<WindowsInside> more = inside;
              more.push_back(windows_inside(e, axis, spatial, k));
              elements(plane, joined(element, {k}), more);
            },
            0);
      };
  b.for_all(planes, [&](const Indices& plane) {
    b.for_all(out_extents, [&](const Indices& position) {
      e.store(0, joined(plane, position), b.constant(e.output_dtype(), std::int64_t{0}));
    });
    elements(plane, {}, {});
  });
}

/// The adjoint of each element is that of its position, which is taken from `dy` with zeros around
/// it.
std::vector<ir::ValueId> sum_of_windows_gradient(ir::Builder& b, const ir::Node& node,
                                                 std::span<const ir::ValueId> adjoints) {
  const ir::ValueId x = node.inputs[0];
  const std::int64_t spatial = spatial_count(node.attributes);
  const ir::ValueId zero = b.scalar<std::int64_t>(0), one = b.scalar<std::int64_t>(1);
  ir::ValueId y = adjoints[0];
  Ints order{0, 1};
  for (std::int64_t a = 0; a < spatial; ++a) {
    const auto k = static_cast<std::size_t>(a);
    const std::int64_t axis = 2 + 2 * a;
    const auto numbers = [&](std::int64_t of, std::int64_t step) {
      const ir::ValueId all = iota(b, extent_of(b, x, of));
      return b("mul", {all, b.scalar(step)});
    };
    const ir::ValueId elements = b(
        "unsqueeze", {numbers(2 + a, node.attributes.ints("dilations")[k]), b.integers({1})});
    const ir::ValueId windows = numbers(2 + spatial + a, node.attributes.ints("strides")[k]);
    const ir::ValueId at = b(
        "sub", {b("add", {elements, windows}), b.scalar(node.attributes.ints("begins")[k])});
    // Index 0 is a zero; other positions are one later.
    const ir::ValueId extent = b("reshape", {extent_of(b, adjoints[0], 2 + a), b.integers({})});
    const ir::ValueId outside = b("or",
                                  {b("less", {at, zero}), b("greater_or_equal", {at, extent})});
    const ir::ValueId padded = b("pad",
                                 {y, b.integers({1, 0}), ir::ValueId::none, b.integers({axis})});
    y = b("gather", {padded, b("where", {outside, zero, b("add", {at, one})})}, {{"axis", axis}});
    order.push_back(axis);
  }
  for (std::int64_t a = 0; a < spatial; ++a) order.push_back(3 + 2 * a);
  return {b("transpose", {y}, {{"perm", order}}), ir::ValueId::none};
}

const ir::OpEntry sum_of_windows{{
    .name = "sum_of_windows",
    .doc = "y = the sums of the elements of windows x[n, channels, kernel..., windows...] at each "
           "position: element k of window i is at i * stride + k * dilation - begin, axis by axis; "
           "elements outside the extents are left out",
    .inputs = {{"x"}, {"extents"}},
    .required = {"begins", "dilations", "strides"},
    .type = sum_of_windows_rule,
    .meaning = nest(add_windows),
    .value_inputs = {1},
    .gradient = sum_of_windows_gradient,
}};

}  // namespace
}  // namespace rondel::ops
