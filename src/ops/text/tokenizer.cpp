#include "base/error.h"
#include "kernels/tokens.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

kernels::Tokens token_spec(const ir::Attributes& a) {
  kernels::Tokens spec;
  spec.separators = a.strings("separators");
  spec.expression = a.s("tokenexp", "");
  spec.least = a.i("mincharnum");
  spec.mark = a.flag("mark");
  spec.pad = a.s("pad_value", "");
  spec.characters = spec.separators.empty() ? spec.expression == "."
                                            : spec.separators == ir::Strings{""};
  require(!spec.separators.empty() || !spec.expression.empty(),
          "it needs one of the attributes 'separators' and 'tokenexp'");
  require(spec.least >= 1, "attribute 'mincharnum' is {}; expected 1 or more", spec.least);
  require(!spec.characters || spec.least == 1,
          "attribute 'mincharnum' is {}; expected 1 for tokens of one character", spec.least);
  return spec;
}

void tokenizer_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::string);
  kernels::tokens_of(token_spec(c.attributes()));
  const ir::Type& x = c.input(0);
  if (!x.has_rank()) return c.output(0, x);
  require(x.rank() == 1 || x.rank() == 2, "x has rank {}; expected 1 or 2", x.rank());
  ir::Extents extents = x.extents();
  extents.emplace_back();
  c.output(0, ir::Type::tensor(DType::string, std::move(extents)));
}

kernels::UnsizedKernel prepare_tokenizer(const ir::Node& node, std::span<const ir::Type>) {
  return kernels::tokens_of(token_spec(node.attributes));
}

const ir::OpEntry tokenizer{{
    .name = "tokenizer",
    .doc = "y = the tokens of each text of x along a new last axis: its characters, what regular "
           "expressions separate, or what one matches (com.microsoft)",
    .inputs = {{"x"}},
    .attributes = {{"mark", 0}, {"pad_value", ""}, {"separators", ir::Strings{}}, {"tokenexp", ""}},
    .required = {"mincharnum"},
    .type = tokenizer_rule,
    .meaning = unsized_kernel(prepare_tokenizer),
}};

}  // namespace
}  // namespace rondel::ops
