#include "kernels/key_position.h"
#include "ops/learned/rows.h"

namespace rondel::ops {
namespace {

void text_position_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::string);
  c.output(0, with_dtype(c.input(0), DType::i64));
}

kernels::UnsizedKernel prepare_text_position(const ir::Node& n, std::span<const ir::Type>) {
  return kernels::text_position(n.attributes.strings("keys"));
}

const ir::OpEntry text_position{{
    .name = "text_position",
    .doc = "y = the position of each text of x among the keys; the number of keys if it is none",
    .inputs = {{"x"}},
    .attributes = {{"keys", ir::Strings{}}},
    .type = text_position_rule,
    .meaning = unsized_kernel(prepare_text_position),
}};

}  // namespace
}  // namespace rondel::ops
