#include "base/error.h"
#include "ops/sequences.h"

namespace rondel::ops {
namespace {

void optional_rule(ir::TypeContext& c) {
  if (c.has(0)) return c.output(0, ir::Type::optional(c.input(0)));
  require(c.attributes().has("type"), "an empty optional needs the attribute 'type'");
  c.output(0, ir::Type::optional(c.attributes().type("type")));
}

void make(kernels::UnsizedCall& call) {
  call.set(0, call.has(0) ? Optional{std::make_shared<const Value>(call.value(0))} : Optional{});
}

const ir::OpEntry optional{{
    .name = "optional",
    .doc = "an optional that holds the input, or nothing",
    .inputs = {{"value", ir::InputDef::optional}},
    .outputs = {"optional"},
    .attributes = {{"type", ir::Type()}},
    .type = optional_rule,
    .meaning = plain_kernel(make),
}};

}  // namespace
}  // namespace rondel::ops
