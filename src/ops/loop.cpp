#include "ops/meaning.h"

namespace rondel::ops {
namespace {

const ir::OpEntry loop{{
    .name = "loop",
    .doc = "The one loop: states carried, scans read a slice a trip, items stacked",
    .inputs = {{"inputs", ir::InputDef::variadic}},
    .outputs = {"results"},
    .attributes = {{"trips", std::int64_t{0}},
                   {"go", std::int64_t{0}},
                   {"states", std::int64_t{0}},
                   {"scans", std::int64_t{0}},
                   {"stacks", std::int64_t{0}},
                   {"fixed", ir::Ints{}},
                   {"keeps", ir::Ints{}},
                   {"axis_in", ir::Ints{}},
                   {"reverse_in", ir::Ints{}},
                   {"axis_out", ir::Ints{}},
                   {"reverse_out", ir::Ints{}},
                   {"extents", ir::Ints{}},
                   {"declared", ir::TypeList{}}},
    .meaning = std::make_shared<Control>(),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
