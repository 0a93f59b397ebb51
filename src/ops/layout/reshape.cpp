#include "base/checked.h"
#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

using ir::Extent;

/// The meaning of an element of the new shape. `extent`: it is the extent of the axis (given, or
/// for 0 copied from x). `inferred`: it is -1, so the extent follows from the other axes.
/// `unknown`: it is not known which of the two applies.
struct NewExtent {
  enum Kind : std::uint8_t { extent, inferred, unknown } kind = unknown;
  Extent e = {};
  bool kept = false;        ///< it is the extent of x on that axis
  ir::Integer either = {};  ///< of `unknown`: w, or for 0 that of x; or nothing
};

NewExtent new_extent(const ir::Integer& w, const ir::Type& x, std::size_t axis, bool allow_zero,
                     Conditions& conditions) {
  const auto a = static_cast<std::int64_t>(axis);
  require(!w.known() || *w.number >= -1, "extent {} of the new shape is {}", axis,
          w.number.value_or(0));
  if (w == -1) return {NewExtent::inferred};
  if (!w.at_least(0)) return {};
  const bool has_axis = x.has_rank() && a < x.rank(),
             same = has_axis && ir::Integer(x.extent(a)) == w;
  if (allow_zero || w.at_least(1)) return {NewExtent::extent, Extent(w), same};
  // 0 keeps the extent of x.
  if (!x.has_rank()) return {};
  require(w != 0 || has_axis, "the new shape keeps axis {}, which x does not have", axis);
  if (w == 0) return {NewExtent::extent, x.extent(a), true};
  if (has_axis && !same) {
    const ir::Integer is_zero = ir::Integer(1) - min(w, 1);
    return {.either = w + is_zero * x.extent(a)};
  }
  if (!has_axis) conditions.not_negative(w - 1);
  return {NewExtent::extent, Extent(w), same};
}

/// What the elements of the new shape mean, in order. One missing extent follows from the others,
/// because the number of elements does not change.
struct NewShape {
  std::vector<NewExtent> axes;
  std::optional<std::size_t> inferred;  ///< the axis of -1
  std::optional<std::size_t> missing;   ///< the last axis of which no extent is given
  std::size_t missing_count = 0;

  /// Whether an axis, of x or of the new shape, counts as elements are counted. For -1, those that
  /// keep their extent do not, so that an empty batch keeps the extents behind it: [0, 6] becomes
  /// [0, 2, 3] by [0, -1, 3].
  bool counts(std::size_t a) const { return !inferred || a >= axes.size() || !axes[a].kept; }
  bool gives(std::size_t a) const { return axes[a].kind == NewExtent::extent && counts(a); }
};

NewShape new_shape(const ir::Integers& list, const ir::Type& x, bool allow_zero,
                   Conditions& conditions) {
  NewShape shape;
  for (std::size_t a = 0; a < list.size(); ++a) {
    const NewExtent w = new_extent(list[a], x, a, allow_zero, conditions);
    shape.axes.push_back(w);
    if (w.kind == NewExtent::extent) continue;
    require(w.kind != NewExtent::inferred || !shape.inferred, "the new shape has -1 twice");
    if (w.kind == NewExtent::inferred) shape.inferred = a;
    shape.missing = a;
    ++shape.missing_count;
  }
  return shape;
}

/// The elements of x, as far as they count.
ir::Integer elements_of(const ir::Type& x, const NewShape& shape) {
  ir::Integer all = 1;
  for (std::size_t a = 0; a < x.extents().size(); ++a)
    if (shape.counts(a)) all = all * x.extents()[a];
  return all;
}
/// The product of the given extents, as far as they count.
ir::Integer given_by(const NewShape& shape) {
  ir::Integer all = 1;
  for (std::size_t a = 0; a < shape.axes.size(); ++a)
    if (shape.gives(a)) all = all * shape.axes[a].e;
  return all;
}

/// Checks the number of elements if all extents except the inferred one are numbers.
void check_count(const ir::Integer& count, const NewShape& shape) {
  std::int64_t given = 1;
  for (std::size_t a = 0; a < shape.axes.size(); ++a) {
    if (!shape.gives(a)) continue;
    if (!shape.axes[a].e.known()) return;
    given = checked_mul(given, shape.axes[a].e.value);
  }
  if (!count.known()) return;
  if (!shape.inferred)
    return require(given == *count.number, "{} elements do not fill a shape of {}", *count.number,
                   given);
  require(given > 0, "the new shape has -1 beside a 0, so any extent would fit for -1");
  require(*count.number % given == 0,
          "{} elements cannot be divided into extents whose product is {}", *count.number, given);
}

/// The product of the given extents, `given`, must be the number of elements, or divide it if one
/// extent is inferred.
void conditions_of_count(Conditions& conditions, const ir::Integer& count, const ir::Integer& given,
                         bool inferred) {
  if (!inferred) return conditions.equal(given, count);
  conditions.not_negative(given - 1);
  conditions.equal(floor_div(count, given) * given, count);
}

/// The extents of the result, as far as they are known.
ir::Extents reshaped_extents(ir::TypeContext& c, const ir::Integers& list, bool allow_zero) {
  const ir::Type& x = c.input(0);
  Conditions conditions;
  const NewShape shape = new_shape(list, x, allow_zero, conditions);
  ir::Extents extents;
  for (const NewExtent& w : shape.axes) extents.push_back(w.e);
  if (!x.has_rank() || shape.missing_count > 1) return extents;
  const ir::Integer count = elements_of(x, shape), given = given_by(shape);
  if (shape.missing && !shape.inferred)
    conditions.equal(given * shape.axes[*shape.missing].either, count);
  else conditions_of_count(conditions, count, given, shape.inferred.has_value());
  conditions.state(c);
  if (!shape.missing || shape.inferred) check_count(count, shape);
  // If the product of the other extents is 0, any extent would fit.
  if (shape.missing && (shape.inferred || given.at_least(1)))
    extents[*shape.missing] = Extent(floor_div(count, given));
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
    .meaning = reshaping(),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .batch = batched_reshape,
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
