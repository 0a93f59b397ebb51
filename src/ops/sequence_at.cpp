#include "ops/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void at_rule(ir::TypeContext& c) {
  require_dtypes(c, 1, integer_dtypes());
  c.output(0, element_type(c, 0));
}

void at(kernels::UnsizedCall& call) {
  const Sequence& items = call.value(0).sequence();
  call.set(0, (*items.items)[position_in(call.value(1), items.size(), false)]);
}

const ir::OpEntry sequence_at{{
    .name = "sequence_at",
    .doc = "the tensor at a position of a sequence",
    .inputs = {{"sequence"}, {"position"}},
    .outputs = {"tensor"},
    .type = at_rule,
    .meaning = plain_kernel(at),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
