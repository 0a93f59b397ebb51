#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/positions.h"
#include "ops/type_rules.h"

#include <algorithm>

namespace rondel::ops {
namespace {

void unsqueeze_rule(ir::TypeContext& c) {
  require_tensor(c, 0);
  require_dtype(c, 1, DType::i64);
  const ir::Type &x = c.input(0), &list = c.input(1);
  if (!x.has_rank()) return c.output(0, ir::Type::unranked(x.dtype()));
  const auto axes = c.integers(1);
  if (!axes) {
    const bool counted = list.has_rank() && (list.rank() == 0 || list.extent(0).known());
    const std::int64_t more = !counted ? 0 : list.rank() == 0 ? 1 : list.extent(0).value;
    return c.output(
        0, counted ? ir::Type::ranked(x.dtype(), x.rank() + more) : ir::Type::unranked(x.dtype()));
  }
  const std::int64_t rank = x.rank() + static_cast<std::int64_t>(axes->size());
  const ir::Ints added = normal_axes(*axes, rank);
  ir::Extents extents;
  for (std::int64_t a = 0, from = 0; a < rank; ++a) {
    const bool is_new = std::ranges::count(added, a) > 0;
    extents.push_back(is_new ? ir::Extent(1) : x.extent(from++));
  }
  c.output(0, ir::Type::tensor(x.dtype(), std::move(extents)));
  keep_elements(c);
  c.holds_while();
}

std::vector<ir::ValueId> batched_unsqueeze(ir::Builder& b, const ir::Node& node,
                                           std::span<const ir::Batch> inputs) {
  const auto rank = element_rank(b, inputs[0]);
  const Tensor* added = b.graph().constant(inputs[1].value);
  if (!stacked_first(inputs) || !rank || added == nullptr) return {};
  const auto axes = axes_from_end(b, inputs[1].value, *rank + added->size());
  return same_call(b, node, {inputs[0].value, *axes}, node.attributes);
}

const ir::OpEntry unsqueeze{{
    .name = "unsqueeze",
    .doc = "y = x with axes of extent 1 at the listed axes of y",
    .inputs = {{"x"}, {"axes"}},
    .type = unsqueeze_rule,
    .meaning = reshaping(),
    .value_inputs = {1},
    .can_fail = unless_known({1}),
    .batch = batched_unsqueeze,
    .gradient = reshape_gradient,
}};

}  // namespace
}  // namespace rondel::ops
