#include "gradients/gradient.h"

#include "gradients/region_gradient.h"
#include "ir/infer.h"
#include "ops/gradients.h"

namespace rondel::gradients {
namespace {

using ir::ValueId;

ValueId ones_like(ir::Builder& b, ValueId v) {
  const ValueId one = b.scalar(b.graph().value(v).type.dtype(), 1);
  return b("expand", {one, b("shape", {v})});
}

bool has_containers(const ir::Graph& g) {
  for (std::size_t k = 0; k < g.value_count(); ++k)
    if (const ir::Type& t = g.value(static_cast<ValueId>(k)).type;
        t.is_sequence() || t.is_optional())
      return true;
  return false;
}

/// Tensors read from sequences have no rank. Gives adjoints without a rank the shape of the values
/// that they belong to.
void restore_ranks(ir::Builder& b, std::span<const ValueId> values,
                   std::vector<ValueId>& adjoints) {
  ir::infer_types(b.graph());
  for (std::size_t k = 0; k < values.size(); ++k)
    if (b.graph().value(values[k]).type.has_rank() && !b.graph().value(adjoints[k]).type.has_rank())
      adjoints[k] = ops::with_shape_of(b, adjoints[k], values[k]);
}

}  // namespace

std::vector<ValueId> add_gradient(ir::Graph& g, const GradientRequest& r) {
  ir::Builder b(g, r.region);
  if (r.before != ir::NodeId::none) b.insert_before(r.before);
  Influence influence(g);
  for (const ValueId v : r.wrt) influence.add(v);
  influence.spread(r.region);
  RegionGradient gradient(b, influence);
  for (std::size_t k = 0; k < r.targets.size(); ++k) {
    const bool seeded = k < r.seed.size() && r.seed[k] != ValueId::none;
    gradient.add(r.targets[k], seeded ? r.seed[k] : ones_like(b, r.targets[k]));
  }
  gradient.run();
  std::vector<ValueId> result;
  for (const ValueId v : r.wrt) {
    const ValueId adjoint = influence.contains(v) ? gradient.adjoint(v) : ValueId::none;
    result.push_back(adjoint != ValueId::none ? adjoint : ops::zeros_like(b, v));
  }
  if (has_containers(g)) restore_ranks(b, r.wrt, result);
  return result;
}

}  // namespace rondel::gradients
