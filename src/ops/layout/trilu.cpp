#include "base/error.h"
#include "ops/batching.h"
#include "ops/meaning.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex triangle(Emitter& e, std::size_t, const Indices& index) {
  const Ex row = index[index.size() - 2], column = index.back();
  const Ex k = e.has(1) ? scalar_input(e, 1) : e.builder().index(0);
  const bool upper = e.attributes().flag("upper", true);
  const Ex kept = upper ? column - row >= k : column - row <= k;
  return select(kept, e.load(0, index), e.builder().constant_bits(e.dtype(0), 0));
}

void trilu_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  const ir::Type& x = c.input(0);
  require(!x.has_rank() || x.rank() >= 2, "input 0 is {}; expected rank 2 or more", to_text(x));
  if (c.has(1)) {
    require_dtype(c, 1, DType::i64);
    require_scalar(c, 1);
  }
  c.output(0, x);
  if (x.has_rank()) c.holds_while();
}

std::vector<ir::ValueId> trilu_gradient(ir::Builder& b, const ir::Node& node,
                                        std::span<const ir::ValueId> adjoints) {
  std::vector<ir::ValueId> inputs = node.inputs, result(inputs.size(), ir::ValueId::none);
  inputs[0] = adjoints[0];
  result[0] = b("trilu", std::move(inputs), node.attributes);
  return result;
}

const ir::OpEntry trilu{{
    .name = "trilu",
    .doc = "y = the upper or lower triangle of the last two axes, from diagonal k; else zeros",
    .inputs = {{"x"}, {"k", ir::InputDef::optional}},
    .attributes = {{"upper", 1}},
    .type = trilu_rule,
    .meaning = elements(triangle),
    .in_place = {0},
    .batch = only_first_stacked,
    .gradient = trilu_gradient,
}};

}  // namespace
}  // namespace rondel::ops
