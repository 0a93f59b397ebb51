#include "base/error.h"
#include "ops/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void insert_rule(ir::TypeContext& c) {
  const ir::Type& element = element_type(c, 0);
  require_tensor(c, 1);
  require(c.input(1).dtype() == element.dtype(), "a {} goes into a sequence of {}",
          name(c.input(1).dtype()), name(element.dtype()));
  if (c.has(2)) require_dtypes(c, 2, integer_dtypes());
  c.output(0, ir::Type::sequence(*join(element, c.input(1))));
}

void insert(kernels::UnsizedCall& call) {
  const std::size_t size = call.value(0).sequence().size();
  const std::size_t at = call.has(2) ? position_in(call.value(2), size, true) : size;
  const DType dtype = call.value(0).sequence().dtype;
  const Items items = items_to_change(call, std::get<Sequence>(call.take(0)));
  items->insert(items->begin() + static_cast<std::ptrdiff_t>(at), call.tensor(1));
  call.set(0, Sequence{dtype, items});
}

const ir::OpEntry sequence_insert{{
    .name = "sequence_insert",
    .doc = "the sequence with a tensor put before a position, or last",
    .inputs = {{"sequence"}, {"tensor"}, {"position", ir::InputDef::optional}},
    .outputs = {"sequence"},
    .type = insert_rule,
    .meaning = plain_kernel(insert),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
