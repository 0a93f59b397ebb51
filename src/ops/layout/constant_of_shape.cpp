#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <cstring>

namespace rondel::ops {
namespace {

Ex filled(Emitter& e, std::size_t, const Indices&) {
  const Tensor& value = e.attributes().tensor("value");
  std::int64_t bits = 0;
  std::memcpy(&bits, value.data(), byte_size(value.dtype()));
  return e.builder().constant_bits(value.dtype(), bits);
}

void constant_of_shape_rule(ir::TypeContext& c) {
  const Tensor& value = c.attributes().tensor("value");
  require(value.size() == 1, "value has {} elements; expected one", value.size());
  require(value.dtype() != DType::string && byte_size(value.dtype()) <= 8,
          "value is {}; expected a number of at most 8 bytes", name(value.dtype()));
  require_dtype(c, 0, DType::i64);
  require_rank(c, 0, 1);
  const ir::Type& shape = c.input(0);
  if (const auto elements = c.elements(0)) {
    Conditions conditions;
    for (const ir::Integer& e : *elements) {
      require(!e.known() || *e.number >= 0, "extent {} is negative", e.number.value_or(0));
      conditions.not_negative(e);
    }
    conditions.state(c);
    c.output(0, ir::Type::tensor(value.dtype(), ir::as_extents(*elements)));
  } else if (shape.has_rank() && shape.extent(0).known()) {
    c.output(0, ir::Type::ranked(value.dtype(), shape.extent(0).value));
  } else {
    c.output(0, ir::Type::unranked(value.dtype()));
  }
}

std::vector<Ex> extents_of_shape(Emitter& e, std::size_t) {
  std::vector<Ex> extents;
  for (std::int64_t a = 0; a < e.output(0).rank(); ++a) {
    extents.push_back(e.load(0, {e.builder().index(a)}));
    e.builder().check(extents.back() >= 0, "extent {} is negative", {extents.back()});
  }
  return extents;
}

const ir::OpEntry constant_of_shape{{
    .name = "constant_of_shape",
    .doc = "y has the shape that the input says; every element is `value`",
    .inputs = {{"shape"}},
    .attributes = {{"value", Tensor::zeros(DType::f32, {1})}},
    .type = constant_of_shape_rule,
    .meaning = elements(filled, nullptr, extents_of_shape),
    .value_inputs = {0},
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
