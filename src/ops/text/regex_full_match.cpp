#include "kernels/pattern.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void regex_full_match_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::string);
  kernels::matches_of(c.attributes().s("pattern", ""));
  c.output(0, with_dtype(c.input(0), DType::boolean));
}

kernels::UnsizedKernel prepare_matches(const ir::Node& node, std::span<const ir::Type>) {
  return kernels::matches_of(node.attributes.s("pattern", ""));
}

const ir::OpEntry regex_full_match{{
    .name = "regex_full_match",
    .doc = "y = whether the whole of each text of x matches the regular expression `pattern`",
    .inputs = {{"x"}},
    .attributes = {{"pattern", ""}},
    .type = regex_full_match_rule,
    .meaning = unsized_kernel(prepare_matches),
}};

}  // namespace
}  // namespace rondel::ops
