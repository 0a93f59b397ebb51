#include "base/error.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

Ex infinite(Emitter& e, Ex x) {
  x = widened(x);
  const double inf = std::numeric_limits<double>::infinity();
  const Ex above = x == inf, below = x == -inf;
  const bool positive = e.attributes().flag("detect_positive", true);
  const bool negative = e.attributes().flag("detect_negative", true);
  if (positive && negative) return above | below;
  if (positive) return above;
  return negative ? below : e.builder().constant(DType::boolean, std::int64_t{0});
}

const ir::OpEntry is_inf{{
    .name = "is_inf",
    .doc = "y = whether x is an infinity of a sign that the attributes ask for",
    .inputs = {{"x"}},
    .attributes = {{"detect_negative", 1}, {"detect_positive", 1}},
    .type = float_predicate_rule,
    .meaning = elementwise(infinite),
}};

}  // namespace
}  // namespace rondel::ops
