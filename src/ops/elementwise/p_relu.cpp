#include "ops/batching.h"
#include "ops/derivative.h"
#include "ops/type_rules.h"
#include "ops/wide.h"

namespace rondel::ops {
namespace {

void p_relu_rule(ir::TypeContext& c) {
  require_same_dtype(c, 0, 1);
  const ir::Type *x = &c.input(0), *slope = &c.input(1);
  if (x->has_rank() && slope->has_rank()) {
    broadcast_onto(x->extents(), slope->extents());
    holds_if_broadcasts(c, {&slope, 1}, x->extents());
  }
  c.output(0, *x);
}

constexpr auto p_relu_of = [](auto&, auto x, auto slope) { return select(x < 0, slope * x, x); };

const ir::OpEntry p_relu{{
    .name = "p_relu",
    .doc = "y = x above zero, slope * x below; slope is broadcast to x",
    .inputs = {{"x"}, {"slope"}},
    .type = numbers_only(p_relu_rule),
    .meaning = formula<2>(p_relu_of),
    .batch = only_first_stacked,
    .gradient = derivative<2>(p_relu_of),
}};

}  // namespace
}  // namespace rondel::ops
