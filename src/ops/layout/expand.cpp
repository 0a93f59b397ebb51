#include "base/error.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void expand_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  require_rank(c, 1, 1);
  const ir::Type& x = c.input(0);
  const auto elements = c.elements(1);
  if (!elements || !x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  Conditions conditions;
  for (const ir::Integer& e : *elements) {
    require(!e.known() || *e.number >= 0, "the shape has a negative extent: {}",
            e.number.value_or(0));
    conditions.not_negative(e);
  }
  const ir::Type wanted = ir::Type::tensor(x.dtype(), ir::as_extents(*elements));
  const auto extents = broadcast_extents(x.extents(), wanted.extents());
  if (!extents) return c.output(0, ir::Type::unranked(x.dtype()));
  const ir::Type* both[] = {&x, &wanted};
  conditions.broadcasts(both, *extents);
  conditions.state(c);
  c.output(0, ir::Type::tensor(x.dtype(), *extents));
}

std::optional<std::vector<Tensor>> expanded_view(const ir::Attributes&,
                                                 std::span<const Value> inputs,
                                                 std::span<const Shape> shapes) {
  const Tensor& x = inputs[0].tensor();
  const std::size_t more = shapes[0].size() - x.shape().size();
  Shape strides(shapes[0].size(), 0);
  for (std::size_t a = 0; a < x.shape().size(); ++a)
    if (x.shape()[a] != 1) strides[more + a] = x.strides()[a];
  return std::vector<Tensor>{x.strided(0, shapes[0], std::move(strides))};
}

std::vector<Ex> broadcast_extents(Emitter& e, std::size_t) {
  scalar::Builder& b = e.builder();
  const std::int64_t rank = e.output(0).rank(), own = e.rank(0),
                     listed = e.input(1).extent(0).value;
  std::vector<Ex> extents;
  for (std::int64_t from_last = rank; from_last > 0; --from_last) {
    const Ex x = from_last <= own ? e.extent(0, own - from_last) : b.index(1);
    const Ex wanted = from_last <= listed ? e.load(1, {b.index(listed - from_last)}) : b.index(1);
    b.check(wanted >= 0, "the shape has a negative extent: {}", {wanted});
    b.check((x == wanted) | (x == 1) | (wanted == 1),
            "extents {} and {} of axis " + std::to_string(-from_last) + " do not broadcast",
            {x, wanted});
    extents.push_back(select(x == 1, wanted, x));
  }
  return extents;
}

Ex expanded_element(Emitter& e, std::size_t, const Indices& out) {
  return e.load_broadcast(0, out);
}

std::shared_ptr<const ir::Meaning> expansion() {
  auto meaning = view_of_matrices(expanded_view, expanded_element, broadcast_extents);
  meaning->keeps_rows = always_keeps_rows;
  return meaning;
}

std::vector<ir::ValueId> expand_gradient(ir::Builder& b, const ir::Node& node,
                                         std::span<const ir::ValueId> adjoints) {
  return {summed_to(b, adjoints[0], node.inputs[0]), ir::ValueId::none};
}

const ir::OpEntry expand{{
    .name = "expand",
    .doc = "y = x broadcast with a shape",
    .inputs = {{"x"}, {"shape"}},
    .type = expand_rule,
    .meaning = expansion(),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .gradient = expand_gradient,
}};

}  // namespace
}  // namespace rondel::ops
