#include "base/error.h"
#include "ops/gradients.h"
#include "ops/type_rules.h"
#include "ops/windows/windows.h"

#include <limits>

namespace rondel::ops {
namespace {

using ir::Ints;
using ir::ValueId;

/// The extent along a spatial axis of the tensor that was pooled.
ir::Integer unpooled_extent(const kernels::WindowSpec& spec, std::size_t axis,
                            const ir::Extent& in) {
  if (!in.known_or_symbolic()) return {};
  const kernels::WindowAxis w = kernels::axis_of(spec, axis, 0, spec.kernel[axis]);
  return (ir::Integer(in) - 1) * w.stride + w.kernel - w.begin - w.end;
}

void max_unpool_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require_dtypes(c, 0, float_dtypes());
  require_dtype(c, 1, DType::i64);
  require(fits(with_dtype(c.input(1), x.dtype()), x), "indices {} and x {} differ in shape",
          to_text(c.input(1)), to_text(x));
  const kernels::WindowSpec spec = window_spec(c.attributes());
  const std::size_t spatial = spec.kernel.size();
  check(spec, spatial);
  const auto rank = static_cast<std::int64_t>(spatial) + 2;
  require_rank(c, 0, rank);
  require_rank(c, 1, rank);
  ir::Extents out(spatial + 2);
  if (x.has_rank()) std::copy_n(x.extents().begin(), 2, out.begin());
  for (std::size_t a = 0; a < spatial && x.has_rank(); ++a) {
    const ir::Integer e = unpooled_extent(spec, a, x.extent(static_cast<std::int64_t>(a) + 2));
    require(e.number.value_or(0) >= 0, "axis {} of the result would have {} elements", a + 2,
            e.number.value_or(0));
    out[a + 2] = ir::Extent(e);
  }
  if (c.has(2)) {
    require_dtype(c, 2, DType::i64);
    require_rank(c, 2, 1);
    const auto given = c.elements(2);
    require(!given || std::ssize(*given) == rank, "output_shape has {} extents; expected {}",
            given ? given->size() : 0, rank);
    for (std::size_t a = 0; a < out.size(); ++a) {
      const ir::Integer e = given ? (*given)[a] : ir::Integer();
      const std::int64_t least = std::max<std::int64_t>(out[a].value, 0);
      const bool kept = a < 2 && out[a].known();
      require(!e.number || (kept ? *e.number == least : *e.number >= least),
              "output_shape has {} on axis {}; expected {}{}", e.number.value_or(0), a,
              kept ? "" : "at least ", least);
      out[a] = ir::Extent(e);
    }
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
}

/// The shape of the tensor that was pooled.
ValueId unpooled_shape(ir::Builder& b, const ir::Node& n) {
  const kernels::WindowSpec spec = window_spec(n.attributes);
  std::vector<ValueId> extents{extent_of(b, n.inputs[0], 0), extent_of(b, n.inputs[0], 1)};
  for (std::size_t a = 0; a < spec.kernel.size(); ++a) {
    const kernels::WindowAxis w = kernels::axis_of(spec, a, 0, spec.kernel[a]);
    const ValueId in = extent_of(b, n.inputs[0], static_cast<std::int64_t>(a) + 2);
    const ValueId steps = b("mul", {in, b.integers({w.stride})});
    extents.push_back(b("add", {steps, b.integers({w.kernel - w.stride - w.begin - w.end})}));
  }
  return b("concat", std::move(extents), {{"axis", 0}});
}

/// How many zeros output_shape adds at the end of each axis of `shape`: none to the batch and the
/// channels, and less than none to no axis. Asserted if only the run knows the shapes.
ValueId zeros_behind(ir::Builder& b, const ir::Node& n, ValueId shape) {
  const ValueId wanted = with_extent_of(b, n.inputs[2], 0, shape, 0,
                                        {"output_shape", "the shape of x"});
  const ValueId after = b("sub", {wanted, shape});
  if (b.graph().constant(wanted) != nullptr && b.graph().value(n.inputs[0]).type.is_static())
    return after;
  Ints most(n.attributes.ints("kernel_shape").size() + 2, std::numeric_limits<std::int64_t>::max());
  most[0] = most[1] = 0;
  const ValueId enough = b("greater_or_equal", {after, b.integers({0})});
  require_in_run(b, b("and", {enough, b("less_or_equal", {after, b.integers(most)})}),
                 "output_shape does not fit x; expected its batch and its channels, and at least "
                 "the extents of what was pooled");
  return after;
}

std::vector<ValueId> scattered_maxima(ir::Builder& b, const ir::Node& n) {
  const ValueId shape = unpooled_shape(b, n), flat = b.integers({-1});
  const ValueId size = b("reduce_prod", {shape}, {{"keepdims", 1}});
  const ValueId zeros = b("expand", {b.scalar(dtype_of(b, n.inputs[0]), 0), size});
  const ValueId all = b(
      "scatter_elements",
      {zeros, b("reshape", {n.inputs[1], flat}), b("reshape", {n.inputs[0], flat})},
      {{"axis", std::int64_t{0}}});
  const ValueId y = b("reshape", {all, shape}, {{"allowzero", 1}});
  if (!has_input(n, 2)) return {y};
  const Ints none(n.attributes.ints("kernel_shape").size() + 2, 0);
  const ValueId after = zeros_behind(b, n, shape);
  return {b("pad", {y, b("concat", {b.integers(none), after}, {{"axis", 0}})})};
}

const ir::OpEntry max_unpool{{
    .name = "max_unpool",
    .doc = "y = zeros with each element of x at its index in the whole of the tensor that was "
           "pooled; with more zeros at the ends if output_shape asks for them",
    .inputs = {{"x"}, {"indices"}, {"output_shape", ir::InputDef::optional}},
    .attributes = {{"pads", Ints{}}, {"strides", Ints{}}},
    .required = {"kernel_shape"},
    .type = max_unpool_rule,
    .meaning = composite(scattered_maxima, {0, 1}),
    .value_inputs = {2},
}};

}  // namespace
}  // namespace rondel::ops
