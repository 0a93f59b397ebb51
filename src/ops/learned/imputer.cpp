#include "ops/learned/rows.h"

#include <cmath>

namespace rondel::ops {
namespace {

using ir::ValueId;

const char* imputed_values(DType t) {
  return is_float(t) ? "imputed_value_floats" : "imputed_value_int64s";
}

std::size_t imputed_count(const ir::Attributes& a, DType t) {
  return is_float(t) ? a.floats(imputed_values(t)).size() : a.ints(imputed_values(t)).size();
}

void imputer_rule(ir::TypeContext& c) {
  rows_rule(c);
  const DType t = c.input(0).dtype();
  const std::size_t count = imputed_count(c.attributes(), t);
  require(count > 0, "{} is empty; input 0 is {}", imputed_values(t), name(t));
  require_per_feature(c, count, imputed_values(t));
  c.output(0, c.input(0));
}

std::vector<ValueId> imputed(ir::Builder& b, const ir::Node& n) {
  const ir::Attributes& a = n.attributes;
  const ValueId x = n.inputs[0];
  const DType t = dtype_of(b, x);
  if (is_float(t)) {
    const double missing = a.f("replaced_value_float", 0);
    const ir::Floats numbers = a.floats("imputed_value_floats");
    const ValueId found = std::isnan(missing) ? b("is_nan", {x})
                                              : b("equal", {x, b.scalar(t, missing)});
    return {b("where", {found, b.constant(numbers_tensor(t, {std::ssize(numbers)}, numbers)), x})};
  }
  const ir::Ints numbers = a.ints("imputed_value_int64s");
  const auto operand = [&](ValueId v) { return as(b, v, t); };
  const ValueId missing = operand(b.scalar(a.i("replaced_value_int64", 0)));
  return {b("where", {b("equal", {x, missing}), operand(b.integers(numbers)), x})};
}

const ir::OpEntry imputer{{
    .name = "imputer",
    .doc = "y = x, with the value that marks what is missing replaced, by one number for each "
           "feature or one for all (ai.onnx.ml)",
    .inputs = {{"x"}},
    .attributes = {{"imputed_value_floats", ir::Floats{}},
                   {"imputed_value_int64s", ir::Ints{}},
                   {"replaced_value_float", 0.0},
                   {"replaced_value_int64", std::int64_t{0}}},
    .type = imputer_rule,
    .meaning = composite(imputed),
}};

}  // namespace
}  // namespace rondel::ops
