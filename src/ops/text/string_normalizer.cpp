#include "base/error.h"
#include "kernels/text.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

kernels::NormalizedStrings normalized_spec(const ir::Attributes& a) {
  const std::string change = a.s("case_change_action", "NONE");
  require(change == "NONE" || change == "LOWER" || change == "UPPER",
          "case_change_action is '{}'; expected NONE, LOWER or UPPER", change);
  using kernels::Case;
  return {change == "NONE"    ? Case::kept
          : change == "LOWER" ? Case::lower
                              : Case::upper,
          a.flag("is_case_sensitive"), a.strings("stopwords")};
}

void string_normalizer_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::string);
  normalized_spec(c.attributes());
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, x);
  require(x.rank() == 1 || (x.rank() == 2 && (!x.extent(0).known() || x.extent(0).value == 1)),
          "input 0 is {}; expected [n] or [1, n]", to_text(x));
  ir::Extents out(static_cast<std::size_t>(x.rank()));
  if (x.rank() == 2) out[0] = 1;
  c.output(0, ir::Type::tensor(DType::string, std::move(out)));
}

kernels::UnsizedKernel prepare_string_normalizer(const ir::Node& node, std::span<const ir::Type>) {
  return [spec = normalized_spec(node.attributes)](kernels::UnsizedCall& call) {
    kernels::normalize_strings(call, spec);
  };
}

const ir::OpEntry string_normalizer{{
    .name = "string_normalizer",
    .doc = "y = the texts of x that are no stop words, in lower or upper case; the case of letters "
           "is Unicode's, whatever the locale",
    .inputs = {{"x"}},
    .attributes = {{"case_change_action", "NONE"},
                   {"is_case_sensitive", 0},
                   {"locale", ""},
                   {"stopwords", ir::Strings{}}},
    .type = string_normalizer_rule,
    .meaning = unsized_kernel(prepare_string_normalizer),
}};

}  // namespace
}  // namespace rondel::ops
