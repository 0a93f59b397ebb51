#include "ops/sequences/sequences.h"

namespace rondel::ops {
namespace {

void has(kernels::UnsizedCall& call) {
  const bool holds = call.has(0) && (!call.value(0).is_optional() || call.value(0).optional().held);
  *call.make(0, DType::boolean, {}).data_as<std::uint8_t>() = holds ? 1 : 0;
}

const ir::OpEntry optional_has_element{{
    .name = "optional_has_element",
    .doc = "whether an optional holds something; true of a value that is not an optional",
    .inputs = {{"value", ir::InputDef::optional}},
    .outputs = {"has"},
    .type = [](ir::TypeContext& c) { c.output(0, ir::Type::scalar(DType::boolean)); },
    .meaning = plain_kernel(has),
}};

}  // namespace
}  // namespace rondel::ops
