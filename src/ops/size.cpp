#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The extent that is the whole product, as the others are 1; else unknown.
ir::Extent only_extent(const ir::Extents& extents) {
  ir::Extent only = 1;
  for (const ir::Extent& e : extents) {
    if (e.value == 1) continue;
    if (only.value != 1) return {};
    only = e;
  }
  return only;
}

void size_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  c.output(0, ir::Type::scalar(DType::i64));
  if (c.input(0).has_rank()) c.set_elements(0, {only_extent(c.input(0).extents())});
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
    .doc = "y = how many elements x has",
    .inputs = {{"x"}},
    .type = size_rule,
    .meaning = elements(size_element),
}};

}  // namespace
}  // namespace rondel::ops
