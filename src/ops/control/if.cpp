#include "ops/meaning.h"

namespace rondel::ops {
namespace {

const ir::OpEntry if_op{{
    .name = "if",
    .doc = "The results of one of two regions, chosen by a bool scalar; the other is not evaluated",
    .inputs = {{"condition"}},
    .outputs = {"results"},
    .meaning = std::make_shared<Control>(),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
