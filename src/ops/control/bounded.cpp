#include "ops/batching.h"
#include "ops/type_rules.h"

#include <limits>

namespace rondel::ops {
namespace {

void bounded_rule(ir::TypeContext& c) {
  require_dtype(c, 0, DType::i64);
  require_dtype(c, 1, DType::i64);
  require_scalar(c, 1);
  c.output(0, c.input(0));
  keep_elements(c);
  c.holds_while();
  const auto x = c.elements(0), most = c.elements(1);
  if (x && most && x->size() == 1 && most->size() == 1 && x->front() == most->front() &&
      x->front().at_least(c.attributes().i("least")))
    c.same(0, 0);
}

Ex checked_bound(Emitter& e, std::span<const Ex> x) {
  const Ex least = e.builder().index(e.attributes().i("least"));
  for (const Ex holds : {x[0] >= least, x[0] <= x[1]})
    e.builder().check(holds, e.attributes().s("message", ""), {x[0], x[1]});
  return x[0];
}

const ir::OpEntry bounded{{
    .name = "bounded",
    .doc = "y = x; x outside [least, most] is an error; the two {} of `message` are x and most",
    .inputs = {{"x"}, {"most"}},
    .attributes = {{"least", std::numeric_limits<std::int64_t>::min()},
                   {"message", "{} is not in bounds; expected at most {}"}},
    .type = bounded_rule,
    .meaning = elementwise(checked_bound),
    .can_fail = true,
    .batch = only_first_stacked,
}};

}  // namespace
}  // namespace rondel::ops
