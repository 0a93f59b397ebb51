#include "ops/layout/one_element.h"

#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void one_element_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  require(x.may_be_one_element(), "{} is {}; expected one element of {}",
          c.attributes().s("what", "x"), to_text(x), name(x.dtype()));
  c.output(0, ir::Type::scalar(x.dtype()));
  keep_elements(c);
  if (!x.has_rank()) return;
  Conditions conditions;
  for (const ir::Extent& e : x.extents()) conditions.equal(e, 1);
  conditions.state(c);
}

const ir::OpEntry one_element{{
    .name = "one_element",
    .doc = "y = the only element of x as a scalar; `what` is what errors call x",
    .inputs = {{"x"}},
    .attributes = {{"what", "x"}},
    .type = one_element_rule,
    .meaning = reshaping(),
    .can_fail = true,
    .gradient = reshape_gradient,
}};

}  // namespace

bool requires_one_element(const ir::Node& n) { return n.op->name == "one_element"; }

}  // namespace rondel::ops
