#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex diagonal(Emitter& e, std::size_t, const Indices& index) {
  const Ex on = index[1] - index[0] == e.attributes().i("k", 0);
  return e.builder().cast(e.output_dtype(), on);
}

void eye_like_rule(ir::TypeContext& c) {
  require_rank(c, 0, 2);
  const ir::Type& asked = c.attributes().type("dtype");
  const DType t = asked.is_tensor() ? asked.dtype() : c.input(0).dtype();
  require(t == DType::boolean || is_integer(t) || is_float(t), "there is no {} one", name(t));
  const ir::Type& x = c.input(0);
  if (x.has_rank()) c.holds_while();
  c.output(0, x.has_rank() ? with_dtype(x, t) : ir::Type::ranked(t, 2));
}

const ir::OpEntry eye_like{{
    .name = "eye_like",
    .doc = "y = ones on diagonal k and zeros elsewhere, of the shape of x",
    .inputs = {{"x"}},
    .attributes = {{"dtype", ir::Type()}, {"k", 0}},
    .type = eye_like_rule,
    .meaning = elements(diagonal),
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
