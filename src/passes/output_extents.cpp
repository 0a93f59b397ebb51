#include "passes/output_extents.h"

#include "ir/infer.h"
#include <algorithm>

namespace rondel::passes {

bool OutputExtents::evaluate(std::span<const Value> inputs,
                             std::vector<std::pair<DType, Shape>>& shapes) const {
  const ir::ValueOfName value_of = [&](ir::Symbol name) -> std::optional<std::int64_t> {
    const auto at = std::ranges::find(sources_, name, &Source::name);
    if (at == sources_.end()) return std::nullopt;
    return inputs[at->input].tensor().shape()[at->axis];
  };
  for (const ir::Integer& condition : conditions_) {
    const auto value = ir::evaluate(condition, value_of);
    if (!value || *value < 0) return false;
  }
  shapes.resize(outputs_.size());
  for (std::size_t j = 0; j < outputs_.size(); ++j) {
    const Output& output = outputs_[j];
    shapes[j].first = output.dtype;
    Shape& shape = shapes[j].second;
    shape.clear();
    for (const ir::Integer& extent : output.extents) {
      const auto value = ir::evaluate(extent, value_of);
      if (!value || *value < 0) return false;
      shape.push_back(*value);
    }
  }
  return true;
}

std::optional<OutputExtents> output_extents(const ir::Graph& g, const ShapeClass& c) {
  std::vector<OutputExtents::Source> sources;
  for (std::size_t k = 0; k < c.types.size(); ++k) {
    if (!c.types[k].is_tensor()) return std::nullopt;
    for (std::int64_t a = 0; a < c.types[k].rank(); ++a) {
      const ir::Extent& e = c.types[k].extent(a);
      if (e.symbolic() && std::ranges::count(sources, e.symbol, &OutputExtents::Source::name) == 0)
        sources.push_back({e.symbol, k, static_cast<std::size_t>(a)});
    }
  }
  const ir::TypeEnvironment k = type_environment_for(g, c);
  if (!k.conditions) return std::nullopt;
  const auto is_known = [&](const ir::Integer& i) {
    return i.known() || (i.symbolic() && std::ranges::all_of(i.symbol.names(), [&](ir::Symbol s) {
                           return std::ranges::count(sources, s, &OutputExtents::Source::name) > 0;
                         }));
  };
  if (!std::ranges::all_of(*k.conditions, is_known)) return std::nullopt;
  std::vector<OutputExtents::Output> outputs;
  for (const ir::ValueId v : g.root().results) {
    const ir::Type& t = k.types[ir::index(v)];
    if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
    outputs.push_back({t.dtype(), {t.extents().begin(), t.extents().end()}});
    if (!std::ranges::all_of(outputs.back().extents, is_known)) return std::nullopt;
  }
  return OutputExtents(std::move(outputs), *k.conditions, std::move(sources));
}

}  // namespace rondel::passes
