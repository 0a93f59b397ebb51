#include "base/error.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// Inputs: the tensor that is differentiated; `xs` variables to differentiate by; `zs` variables
/// that are held constant; and a value for each of these variables, at which the derivatives are
/// computed. No step runs this op: after a model has been read, nodes that compute the adjoints
/// replace it (session/gradient_nodes.h).
void gradient_rule(ir::TypeContext& c) {
  const auto xs = static_cast<std::size_t>(c.attributes().i("xs", 0));
  const auto zs = static_cast<std::size_t>(c.attributes().i("zs", 0));
  require(c.input_count() == 1 + 2 * (xs + zs), "{} inputs; {} and {} variables need {}",
          c.input_count(), xs, zs, 1 + 2 * (xs + zs));
  require(c.output_count() <= xs, "{} outputs for {} variables", c.output_count(), xs);
  require_dtypes(c, 0, float_dtypes());
  for (std::size_t k = 0; k < xs + zs; ++k) {
    const std::size_t variable = 1 + k, value = variable + xs + zs;
    if (k < xs) require_dtypes(c, variable, float_dtypes());
    require_same_dtype(c, variable, value);
  }
  for (std::size_t j = 0; j < c.output_count(); ++j) c.output(j, c.input(1 + xs + zs + j));
}

const ir::OpEntry gradient{{
    .name = "gradient",
    .doc = "the derivatives of a tensor by variables, at values; written out when a model is read",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .outputs = {"gradients"},
    .required = {"xs", "zs"},
    .type = gradient_rule,
}};

}  // namespace
}  // namespace rondel::ops
