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

/// The numbers that replace, in the dtype of x.
ValueId replacements(ir::Builder& b, const ir::Attributes& a, DType t) {
  if (!is_float(t)) return as(b, b.integers(a.ints(imputed_values(t))), t);
  const ir::Floats numbers = a.floats(imputed_values(t));
  return b.constant(numbers_tensor(t, {std::ssize(numbers)}, numbers));
}

ValueId is_missing(ir::Builder& b, const ir::Attributes& a, ValueId x) {
  const DType t = dtype_of(b, x);
  if (!is_float(t)) return b("equal", {x, as(b, b.scalar(a.i("replaced_value_int64", 0)), t)});
  const double missing = a.f("replaced_value_float", 0);
  return std::isnan(missing) ? b("is_nan", {x}) : b("equal", {x, b.scalar(t, missing)});
}

std::vector<ValueId> imputed(ir::Builder& b, const ir::Node& n) {
  const DType t = dtype_of(b, n.inputs[0]);
  const ValueId list = replacements(b, n.attributes, t);
  const ValueId x = with_features_of(b, n.inputs[0], list, imputed_values(t));
  return {b("where", {is_missing(b, n.attributes, x), list, x})};
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
