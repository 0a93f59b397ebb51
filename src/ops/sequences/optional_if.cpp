#include "ops/sequences/sequences.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void make_if(kernels::UnsizedCall& call) {
  const bool holds = *call.tensor(0).data_as<std::uint8_t>() != 0;
  call.set(0, holds ? Optional{std::make_shared<const Value>(call.value(1))} : Optional{});
}

/// What `passes/pair_optionals` makes of a pair that is a result of the graph.
const ir::OpEntry optional_if{{
    .name = "optional_if",
    .doc = "an optional that holds a value if a condition is true, or else nothing",
    .inputs = {{"condition"}, {"value"}},
    .outputs = {"optional"},
    .type =
        [](ir::TypeContext& c) {
          require_dtype(c, 0, DType::boolean);
          require_scalar(c, 0);
          c.output(0, ir::Type::optional(c.input(1)));
        },
    .meaning = plain_kernel(make_if),
}};

}  // namespace
}  // namespace rondel::ops
