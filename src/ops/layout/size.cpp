#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void size_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  c.output(0, ir::Type::scalar(DType::i64));
  c.holds_while();
  if (c.input(0).has_rank()) c.set_elements(0, {ir::product(c.input(0).extents())});
  if (c.input(0).is_static())
    c.known(0, Tensor::scalar<std::int64_t>(element_count(c.input(0).static_shape())));
}

Ex size_element(Emitter& e, std::size_t, const Indices&) {
  Ex product = e.builder().index(1);
  for (const Ex extent : extents_of(e, 0)) product = product * extent;
  return product;
}

const ir::OpEntry size{{
    .name = "size",
    .doc = "y = the number of elements of x",
    .inputs = {{"x"}},
    .type = size_rule,
    .meaning = elements(size_element),
    .reads_extents_only = true,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
