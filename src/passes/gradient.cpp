#include "passes/gradient.h"

#include "ops/gradients.h"
#include "passes/region_gradient.h"

namespace rondel::passes {
namespace {

using ir::ValueId;

ValueId ones_like(ir::Builder& b, ValueId v) {
  const ValueId one = b.scalar(b.graph().value(v).type.dtype(), 1);
  return b("expand", {one, b("shape", {v})});
}

}  // namespace

std::vector<ValueId> add_gradient(ir::Graph& g, const GradientRequest& r) {
  ir::Builder b(g, {});
  Influence influence(g);
  for (const ValueId v : r.stop) influence.stop(v);
  for (const ValueId v : r.by) influence.add(v);
  influence.spread({});
  RegionGradient gradient(b, influence);
  for (std::size_t k = 0; k < r.of.size(); ++k) {
    const bool seeded = k < r.seed.size() && r.seed[k] != ValueId::none;
    gradient.add(r.of[k], seeded ? r.seed[k] : ones_like(b, r.of[k]));
  }
  gradient.run();
  std::vector<ValueId> result;
  for (const ValueId v : r.by) {
    const ValueId adjoint = influence.contains(v) ? gradient.adjoint(v) : ValueId::none;
    result.push_back(adjoint != ValueId::none ? adjoint : ops::zeros_like(b, v));
  }
  return result;
}

}  // namespace rondel::passes
