#include "base/checked.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <ranges>

namespace rondel::ops {
namespace {

using ir::Extent;

/// The meaning of an element of the new shape. `extent`: it is the extent of the axis (given, or
/// for 0 copied from x). `inferred`: it is -1, so the extent follows from the other axes.
/// `unknown`: it is not known which of the two applies.
struct NewExtent {
  enum Kind : std::uint8_t { extent, inferred, unknown } kind = unknown;
  Extent e = {};
};

NewExtent new_extent(const ir::Integer& w, const ir::Type& x, std::size_t axis, bool allow_zero,
                     Conditions& conditions) {
  const auto a = static_cast<std::int64_t>(axis);
  require(!w.known() || *w.number >= -1, "extent {} of the new shape is {}", axis,
          w.number.value_or(0));
  if (w == -1) return {NewExtent::inferred};
  if (!w.at_least(0)) return {};
  if (allow_zero || w.at_least(1)) return {NewExtent::extent, Extent(w)};
  // 0 keeps the extent of x.
  if (!x.has_rank()) return {};
  require(w != 0 || a < x.rank(), "the new shape keeps axis {}, which x does not have", axis);
  if (w == 0) return {NewExtent::extent, x.extent(a)};
  if (a < x.rank() && !(ir::Integer(x.extent(a)) == w)) return {};
  if (a >= x.rank()) conditions.not_negative(w - 1);
  return {NewExtent::extent, Extent(w)};
}

/// Checks the number of elements if all extents except the inferred one are numbers.
void check_count(std::int64_t count, const ir::Extents& extents,
                 std::optional<std::size_t> inferred) {
  std::int64_t known = 1;
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (a != inferred) known = checked_mul(known, extents[a].value);
  if (!inferred)
    return require(known == count, "{} elements do not fill a shape of {}", count, known);
  require(known > 0 ? count % known == 0 : count == 0,
          "{} elements cannot be divided into extents whose product is {}", count, known);
}

/// The product of the given extents, `given`, must be the number of elements, or divide it if one
/// extent is inferred.
void conditions_of_count(Conditions& conditions, const ir::Integer& count, const ir::Integer& given,
                         bool inferred) {
  if (!inferred) return conditions.equal(given, count);
  conditions.not_negative(given - 1);
  conditions.equal(floor_div(count, given) * given, count);
}

/// The extents of the result. The number of elements does not change, so one missing extent follows
/// from the others.
ir::Extents reshaped_extents(ir::TypeContext& c, const ir::Integers& list, bool allow_zero) {
  const ir::Type& x = c.input(0);
  ir::Extents extents;
  std::optional<std::size_t> inferred, missing;
  std::size_t missing_count = 0;
  ir::Integer others = 1;
  Conditions conditions;
  for (std::size_t a = 0; a < list.size(); ++a) {
    const NewExtent w = new_extent(list[a], x, a, allow_zero, conditions);
    extents.push_back(w.e);
    require(w.kind != NewExtent::inferred || !inferred, "the new shape has -1 twice");
    if (w.kind == NewExtent::inferred) inferred = a;
    if (w.kind == NewExtent::extent) {
      others = others * w.e;
    } else {
      missing = a;
      ++missing_count;
    }
  }
  if (!x.has_rank() || missing_count > 1) return extents;
  if (!missing || inferred) {
    conditions_of_count(conditions, ir::product(x.extents()), others, inferred.has_value());
    conditions.state(c);
  }
  const auto in_numbers = [&](std::size_t a) { return a == inferred || extents[a].known(); };
  const auto axes = std::views::iota(std::size_t{0}, extents.size());
  if (x.is_static() && std::ranges::all_of(axes, in_numbers))
    check_count(element_count(x.static_shape()), extents, inferred);
  // If the product of the other extents is 0, any extent would fit; for -1 it is 0 by definition.
  if (missing && (inferred || others.at_least(1)))
    extents[*missing] = Extent(floor_div(ir::product(x.extents()), others));
  return extents;
}

/// The elements of the new shape, as far as they are known.
std::optional<ir::Integers> known_shape(const ir::TypeContext& c) {
  if (const auto wanted = c.integers(1)) return ir::Integers(wanted->begin(), wanted->end());
  return c.elements(1);
}

void reshape_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  keep_elements(c);
  const ir::Type &x = c.input(0), &shape = c.input(1);
  if (const auto wanted = known_shape(c))
    return c.output(
        0, ir::Type::tensor(x.dtype(),
                            reshaped_extents(c, *wanted, c.attributes().flag("allowzero"))));
  const bool counted = shape.has_rank() && shape.extent(0).known();
  c.output(0, counted ? ir::Type::ranked(x.dtype(), shape.extent(0).value)
                      : ir::Type::unranked(x.dtype()));
}

std::vector<ir::ValueId> batched_reshape(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::Batch> inputs) {
  if (!stacked_first(inputs)) return {};
  const ir::ValueId count = b("shape", {inputs[0].value}, {{"end", 1}});
  const ir::ValueId shape = b("concat", {count, inputs[1].value}, {{"axis", 0}});
  return same_call(b, node, {inputs[0].value, shape}, node.attributes);
}

const ir::OpEntry reshape{{
    .name = "reshape",
    .doc = "y = the elements of x, in row-major order, under another shape",
    .inputs = {{"x"}, {"shape"}},
    .attributes = {{"allowzero", std::int64_t{0}}},
    .type = reshape_rule,
    .meaning = view(reshaped_view, reshaped_element),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .batch = batched_reshape,
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
