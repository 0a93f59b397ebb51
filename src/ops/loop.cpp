#include "ops/meaning.h"

namespace rondel::ops {
namespace {

const ir::OpEntry loop{{
    .name = "loop",
    .doc = "The one loop: states carried, scans read a slice a trip, items stacked",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .outputs = {"results"},
    .meaning = std::make_shared<Control>(),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
