#include "ops/meaning.h"

namespace rondel::ops {
namespace {

const ir::OpEntry loop{{
    .name = "loop",
    .doc = "A loop with carried states, scanned inputs (one slice for each trip) and stacked items",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .outputs = {"results"},
    .meaning = std::make_shared<Control>(),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
