#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/scalars.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

Ex one_hot_element(Emitter& e, std::size_t, const Indices& out) {
  const auto axis = normal_axis(e.attributes().i("axis", -1), e.rank(0) + 1);
  Indices index = out;
  index.erase(index.begin() + axis);
  const Ex depth = cast(DType::i64, scalar_input(e, 1));
  Ex at = cast(DType::i64, e.load(0, index));
  at = select(at < 0, at + depth, at);
  const Ex on = at == out[static_cast<std::size_t>(axis)];
  return select(on, e.load(2, {e.builder().index(1)}), e.load(2, {e.builder().index(0)}));
}

void one_hot_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, number_dtypes());
  require_dtypes(c, 1, number_dtypes());
  require_scalar(c, 1);
  require_rank(c, 2, 1);
  const ir::Type &indices = c.input(0), &values = c.input(2);
  require(!values.has_rank() || !values.extent(0).known() || values.extent(0).value == 2,
          "values is {}; expected two elements, off and on", to_text(values));
  const Tensor* depth = c.value(1);
  require(depth == nullptr || integer_value(*depth) >= 1, "depth is below 1");
  if (!indices.has_rank()) return c.output(0, ir::Type::unranked(values.dtype()));
  const auto axis = normal_axis(c.attributes().i("axis", -1), indices.rank() + 1);
  if (depth != nullptr && values.is_static()) c.holds_while();
  ir::Extents out = indices.extents();
  out.insert(out.begin() + axis, depth ? ir::Extent(integer_value(*depth)) : ir::Extent());
  c.output(0, ir::Type::tensor(values.dtype(), std::move(out)));
}

/// The adjoint of each of the two values is the sum of the adjoints of the elements that hold it.
std::vector<ir::ValueId> one_hot_gradient(ir::Builder& b, const ir::Node& node,
                                          std::span<const ir::ValueId> adjoints) {
  const ir::ValueId marks = b.constant(Tensor::from<bool>({2}, {false, true}));
  const ir::ValueId on = b("one_hot", {node.inputs[0], node.inputs[1], marks}, node.attributes);
  const ir::ValueId zero = b.scalar(dtype_of(b, node.inputs[2]), 0);
  const auto sum = [&](ir::ValueId x) {
    const ir::ValueId total = b("reduce_sum", {x}, {{"keepdims", 0}});
    return b("unsqueeze", {total, b.integers({0})});
  };
  const ir::ValueId sums[] = {sum(b("where", {on, zero, adjoints[0]})),
                              sum(b("where", {on, adjoints[0], zero}))};
  return {ir::ValueId::none, ir::ValueId::none, b("concat", {sums[0], sums[1]}, {{"axis", 0}})};
}

const ir::OpEntry one_hot{{
    .name = "one_hot",
    .doc = "y = values[1] at the index along the new axis, values[0] elsewhere",
    .inputs = {{"indices"}, {"depth"}, {"values"}},
    .attributes = {{"axis", -1}},
    .type = one_hot_rule,
    .meaning = elements(one_hot_element),
    .value_inputs = {1},
    .gradient = one_hot_gradient,
}};

}  // namespace
}  // namespace rondel::ops
