// Trees and tables of keys as ops of ai.onnx.ml.
#include "exporters/onnx/decompositions.h"
#include "ops/compose.h"
#include "ops/learned/keys.h"
#include "ops/learned/trees.h"

#include <numeric>

namespace rondel::exporters {

using ir::ValueId;

std::vector<ValueId> tree_ensemble(ir::Builder& b, const ir::Node& n) {
  const auto attributes = ops::tree_ensemble_attributes(n.attributes);
  if (!attributes) return {};
  const ValueId y = b("tree_ensemble", {n.inputs[0]}, *attributes);
  if (n.attributes.s("aggregate", "SUM") != "AVERAGE") return {y};
  const auto trees = static_cast<double>(n.attributes.ints("roots").size());
  return {b("div", {y, b.scalar(ops::dtype_of(b, y), trees)})};
}

std::vector<ValueId> encode_positions(ir::Builder& b, const ir::Node& n) {
  const Tensor keys = ops::list_of(n.attributes, "keys");
  ir::Ints positions(static_cast<std::size_t>(keys.size()));
  std::iota(positions.begin(), positions.end(), 0);
  return {b("label_encoder", {n.inputs[0]},
            {{"default_tensor", Tensor::from<std::int64_t>({1}, {keys.size()})},
             {"keys_tensor", keys},
             {"values_tensor", Tensor::from<std::int64_t>({keys.size()}, std::span(positions))}})};
}

}  // namespace rondel::exporters
