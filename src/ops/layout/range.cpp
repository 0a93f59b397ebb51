#include "base/error.h"
#include "base/float_formats.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

#include <cmath>
#include <limits>

namespace rondel::ops {
namespace {

/// The number of elements start, start + delta, ... before the limit.
template <class Int> std::int64_t integer_count(Int start, Int limit, Int delta) {
  require(delta != 0, "delta is 0; expected another number");
  const __int128 step = delta, distance = static_cast<__int128>(limit) - start;
  if (distance == 0 || (distance > 0) != (step > 0)) return 0;
  const __int128 count = (distance + step + (step > 0 ? -1 : 1)) / step;
  require(count <= std::numeric_limits<std::int64_t>::max(),
          "start {}, limit {}, delta {}: more elements than any tensor has", start, limit, delta);
  return static_cast<std::int64_t>(count);
}

std::int64_t integer_count(const Tensor& start, const Tensor& limit, const Tensor& delta) {
  if (start.dtype() != DType::u64)
    return integer_count(integer_value(start), integer_value(limit), integer_value(delta));
  const auto number = [](const Tensor& t) { return *t.data_as<std::uint64_t>(); };
  return integer_count(number(start), number(limit), number(delta));
}

std::int64_t float_count(double start, double limit, double delta) {
  require(delta != 0 && std::isfinite(start) && std::isfinite(limit) && !std::isnan(delta),
          "start {}, limit {}, delta {}; expected finite numbers and a step", start, limit, delta);
  const double count = std::ceil((limit - start) / delta);
  require(count < 9.2e18, "{} elements are too many", count);
  return count > 0 ? static_cast<std::int64_t>(count) : 0;
}

/// The number of elements for integers that are known as symbolic expressions.
ir::Extent count_of(const ir::TypeContext& c) {
  if (!is_integer(c.input(0).dtype()) || is_unsigned_integer(c.input(0).dtype())) return {};
  const auto start = c.elements(0), limit = c.elements(1), delta = c.elements(2);
  if (!start || !limit || !delta || start->size() != 1 || limit->size() != 1 ||
      delta->size() != 1 || !delta->front().known())
    return {};
  const std::int64_t step = *delta->front().number;
  const ir::Integer distance = limit->front() - start->front();
  if (step > 0) return ir::Extent(ceil_div(max(distance, 0), step));
  if (step == 0 || step == std::numeric_limits<std::int64_t>::min()) return {};
  return ir::Extent(ceil_div(max(-distance, 0), -step));
}

void range_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  for (std::size_t k : {0U, 1U, 2U}) {
    require_same_dtype(c, 0, k);
    require_scalar(c, k);
  }
  const DType t = c.input(0).dtype();
  const Tensor *start = c.value(0), *limit = c.value(1), *delta = c.value(2);
  if (start == nullptr || limit == nullptr || delta == nullptr) {
    const ir::Extent count = count_of(c);
    if (count.known() || count.symbolic()) c.holds_while();
    return c.output(0, ir::Type::tensor(t, ir::Extents{count}));
  }
  const std::int64_t count = is_integer(t) ? integer_count(*start, *limit, *delta)
                                           : float_count(float_value(*start), float_value(*limit),
                                                         float_value(*delta));
  c.output(0, ir::Type::tensor(t, ir::Extents{count}));
  c.holds_while();
}

/// `integer_count` in a program. Distances are unsigned, which no distance exceeds.
Ex integer_count(Emitter& e) {
  const Ex start = scalar_input(e, 0), limit = scalar_input(e, 1), delta = scalar_input(e, 2);
  e.builder().check(delta != 0, "delta is 0; expected another number");
  const Ex up = (delta > 0) & (start < limit), down = (delta < 0) & (limit < start);
  const auto wide = [](Ex x) { return cast(DType::u64, x); };
  const Ex distance = select(up, wide(limit) - wide(start), wide(start) - wide(limit));
  const Ex step = select(delta > 0, wide(delta), 0 - wide(delta));
  const Ex count = cast(DType::i64, (distance - 1) / step + 1);
  e.builder().check((count >= 0) | ~(up | down), "more elements than any tensor has");
  return select(up | down, count, 0);
}

/// `float_count` in a program.
Ex float_count(Emitter& e) {
  scalar::Builder& b = e.builder();
  const auto number = [&](std::size_t k) { return cast(DType::f64, scalar_input(e, k)); };
  const Ex start = number(0), limit = number(1), delta = number(2);
  const Ex infinity = scalar::highest(b, DType::f64);
  b.check((delta != 0) & ~is_nan(delta) & (abs(start) < infinity) & (abs(limit) < infinity),
          "start or limit is not finite, or delta is 0 or NaN; expected finite numbers and a step");
  const Ex count = ceil((limit - start) / delta);
  b.check(count < 9.2e18, "the range has too many elements");
  return select(count > 0, cast(DType::i64, count), 0);
}

std::vector<Ex> count_of_values(Emitter& e, std::size_t) {
  return {is_integer(e.dtype(0)) ? integer_count(e) : float_count(e)};
}

Ex term(Emitter& e, std::size_t, const Indices& index) {
  const Ex start = widened(scalar_input(e, 0)), delta = widened(scalar_input(e, 2));
  return narrowed(e.dtype(0), start + cast(start.type(), index[0]) * delta);
}

/// Element i is start + i * delta, so start gets the sum of dy and delta the sum of dy[i] * i.
std::vector<ir::ValueId> range_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  const ir::ValueId dy = adjoints[0], start = node.inputs[0], delta = node.inputs[2];
  const ir::ValueId i = as(b, iota(b, extent_of(b, dy, 0)), dtype_of(b, start));
  const auto sum = [&](ir::ValueId x) { return b("reduce_sum", {x}, {{"keepdims", 0}}); };
  return {with_shape_of(b, sum(dy), start), ir::ValueId::none,
          with_shape_of(b, sum(b("mul", {dy, i})), delta)};
}

const ir::OpEntry range_op{{
    .name = "range",
    .doc = "y = start, start + delta, ... up to the limit, which is not included",
    .inputs = {{"start"}, {"limit"}, {"delta"}},
    .attributes = {{"stash_type", ir::Type::scalar(DType::f32)}},
    .type = range_rule,
    .meaning = elements(term, nullptr, count_of_values),
    .value_inputs = {0, 1, 2},
    .can_fail = unless_constant({2}),
    .gradient = range_gradient,
}};

}  // namespace
}  // namespace rondel::ops
