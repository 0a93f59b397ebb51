#include "ops/quantized/quantized_products.h"

#include "base/error.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <cmath>

namespace rondel::ops {
namespace {

using ir::Extent;
using ir::Extents;
using ir::Type;

/// One operand of a product: a (left), whose last axis is summed, or b.
struct ProductOperand {
  const Type& type;
  bool vector, left;
  std::int64_t batch;  ///< number of axes before the matrix or vector

  ProductOperand(const Type& t, bool is_left)
      : type(t), vector(t.rank() == 1), left(is_left), batch(vector ? 0 : t.rank() - 2) {}
  const Extent& summed() const { return type.extent(batch + (left && !vector ? 1 : 0)); }
  std::int64_t line_axis() const { return batch + (left ? 0 : 1); }
  Extent lines() const { return vector ? Extent(1) : type.extent(line_axis()); }
  Extents leading() const { return {type.extents().begin(), type.extents().begin() + batch}; }
};

/// Requires that a scale or zero point fits its operand.
void require_parameter(const Type& given, const ProductOperand& o, Conditions& conditions) {
  if (!given.has_rank()) return conditions.unknown();
  bool one = true;
  for (const Extent& e : given.extents()) {
    if (!e.known()) conditions.unknown();
    one = one && (!e.known() || e.value == 1);
  }
  if (one) return;
  const auto fit = [&](const Extent& e, const Extent& wanted) {
    conditions.equal(e, wanted);
    return !e.known() || !wanted.known() || e.value == wanted.value;
  };
  bool fits = given.rank() == 1 ? fit(given.extent(0), o.lines()) : given.rank() == o.type.rank();
  for (std::int64_t a = 0; fits && given.rank() > 1 && a < given.rank(); ++a)
    fits = fit(given.extent(a), a < o.batch || a == o.line_axis() ? o.type.extent(a) : Extent(1));
  require(fits,
          "the scale or zero point {} does not fit {}; expected one element, or one for each {}",
          to_text(given), to_text(o.type), o.left ? "row" : "column");
}

/// Whether `from` certainly has no axis that `to` lacks, and each of its extents is 1 or that of
/// `to`.
bool certainly_broadcast(const Type& from, const Type& to) {
  if (!from.has_rank() || !to.has_rank() || from.rank() > to.rank()) return false;
  for (std::int64_t a = 0; a < from.rank(); ++a) {
    const Extent& own = from.extent(a);
    if (!(own == Extent(1)) && !(own == to.extent(a + to.rank() - from.rank()))) return false;
  }
  return true;
}

}  // namespace

void product_rule(ir::TypeContext& c, const ProductInputs& inputs, DType result) {
  const Type &a = c.input(inputs.a), &b = c.input(inputs.b);
  for (const Type* t : {&a, &b})
    require(!t->has_rank() || t->rank() > 0, "a product needs operands of rank 1 or more");
  if (!a.has_rank() || !b.has_rank()) return c.output(0, Type::unranked(result));
  const ProductOperand left(a, true), right(b, false);
  require(!left.summed().known() || !right.summed().known() ||
              left.summed().value == right.summed().value,
          "inner extents {} and {} differ", left.summed().value, right.summed().value);
  Conditions conditions;
  conditions.equal(left.summed(), right.summed());
  for (const std::size_t k : inputs.of_rows)
    if (c.has(k)) require_parameter(c.input(k), left, conditions);
  for (const std::size_t k : inputs.of_columns)
    if (c.has(k)) require_parameter(c.input(k), right, conditions);
  const Type x = Type::tensor(result, left.leading()), y = Type::tensor(result, right.leading());
  Extents out = *broadcast_extents(left.leading(), right.leading());
  const Type* both[] = {&x, &y};
  conditions.broadcasts(both, out);
  conditions.state(c);
  if (!left.vector) out.push_back(left.lines());
  if (!right.vector) out.push_back(right.lines());
  c.output(0, Type::tensor(result, std::move(out)));
}

void require_sound_scale(const ir::TypeContext& c, std::size_t k) {
  const Tensor* scale = c.value(k);
  if (scale == nullptr || scale->dtype() != DType::f32) return;
  const Tensor list = scale->packed();
  for (std::int64_t i = 0; i < list.size(); ++i) {
    const float v = list.data_as<float>()[i];
    require(std::isfinite(v) && v >= 0,
            "the scale, input {}, has {}; expected a finite number "
            "that is not negative",
            k, v);
  }
}

ir::ValueId one_as_scalar(ir::Builder& b, ir::ValueId v) {
  return b("reshape", {v, b.integers({})});
}

ir::ValueId in_own_shape(ir::Builder& b, ir::ValueId y, ir::ValueId x,
                         std::initializer_list<ir::ValueId> others) {
  const Type type = b.graph().value(y).type, like = b.graph().value(x).type;
  if (std::ranges::all_of(others, [&](ir::ValueId v) {
        return certainly_broadcast(b.graph().value(v).type, like);
      }))
    return y;
  if (type.has_rank() && like.has_rank() && type.rank() != like.rank())
    return b("reshape", {y, b("shape", {x})}, {{"allowzero", 1}});
  return in_shape_of(b, y, x);
}

ir::ValueId requantized(ir::Builder& b, ir::ValueId sums, ir::ValueId scale,
                        ir::ValueId zero_point) {
  const ir::ValueId scaled = in_own_shape(b, b("mul", {as(b, sums, DType::f32), scale}), sums,
                                          {scale});
  return b("quantize_linear", {scaled, b.scalar(DType::f32, 1), zero_point});
}

ir::ValueId product_scale(ir::Builder& b, ir::ValueId a_scale, ir::ValueId b_scale,
                          ir::ValueId y_scale) {
  const ir::ValueId both = b("mul", {as(b, a_scale, DType::f32), as(b, b_scale, DType::f32)});
  return b("div", {both, as(b, y_scale, DType::f32)});
}

}  // namespace rondel::ops
