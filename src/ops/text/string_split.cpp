#include "kernels/text.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void string_split_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::string);
  const ir::Type& x = c.input(0);
  if (x.has_rank()) {
    ir::Extents parts = x.extents();
    parts.emplace_back();
    c.output(0, ir::Type::tensor(DType::string, std::move(parts)));
  } else {
    c.output(0, x);
  }
  if (c.output_count() > 1) c.output(1, with_dtype(x, DType::i64));
}

kernels::UnsizedKernel prepare_string_split(const ir::Node& node, std::span<const ir::Type>) {
  return [delimiter = node.attributes.s("delimiter", ""), most = node.attributes.i("maxsplit", -1)](
             kernels::UnsizedCall& call) { kernels::split_strings(call, delimiter, most); };
}

const ir::OpEntry string_split{{
    .name = "string_split",
    .doc = "y = the parts of each text between delimiters (or white space), along a new last axis, "
           "and the number of parts",
    .inputs = {{"x"}},
    .outputs = {"y", "z"},
    .attributes = {{"delimiter", ""}, {"maxsplit", -1}},
    .type = string_split_rule,
    .meaning = unsized_kernel(prepare_string_split),
}};

}  // namespace
}  // namespace rondel::ops
