#include "ops/derivative.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

const ir::OpEntry fma_op{{
    .name = "fma",
    .doc = "y = a * b + c with one rounding, broadcast",
    .inputs = {{"a"}, {"b"}, {"c"}},
    .type = floats_only(broadcast_rule),
    .meaning = elementwise([](Ex a, Ex b, Ex c) { return fma(a, b, c); }),
    .gradient = derivative<3>([](auto&, auto a, auto b, auto c) { return a * b + c; }),
}};

}  // namespace
}  // namespace rondel::ops
