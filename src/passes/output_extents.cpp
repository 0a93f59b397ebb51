#include "passes/output_extents.h"

#include "ir/infer.h"

#include <algorithm>
#include <cstring>

namespace rondel::passes {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() == DType::string) return false;
  const auto bytes = static_cast<std::size_t>(a.size()) * byte_size(a.dtype());
  return bytes == 0 || std::memcmp(a.packed().data(), b.packed().data(), bytes) == 0;
}

}  // namespace

/// As `classify` would name them: a 1 is no symbol, and different symbols are different extents.
bool OutputExtents::read_symbols(std::span<const Axis> axes, std::span<const std::int64_t> extents,
                                 Shape& symbols) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::int64_t extent = extents[a];
    const auto symbol = static_cast<std::size_t>(axes[a].symbol);
    if (axes[a].symbol < 0) {
      if (extent != axes[a].number) return false;
    } else if (extent < 0) {
      return false;
    } else if (symbol < symbols.size()) {
      if (extent != symbols[symbol]) return false;
    } else {
      if (extent == 1 || std::ranges::find(symbols, extent) != symbols.end()) return false;
      symbols.push_back(extent);
    }
  }
  return true;
}

bool OutputExtents::fits(const Input& input, const Tensor* t) {
  return t != nullptr && t->dtype() == input.dtype && t->shape().size() == input.axes.size() &&
         t->contiguous() == input.contiguous &&
         (!input.value.defined() || same_bytes(*t, input.value));
}

std::optional<std::int64_t> OutputExtents::value_of(const Computed& c, const Shape& symbols) const {
  if (c.symbol >= 0) return symbols[static_cast<std::size_t>(c.symbol)];
  return ir::evaluate(c.integer, [&](ir::Symbol name) -> std::optional<std::int64_t> {
    return symbols[static_cast<std::size_t>(number_of(name))];
  });
}

bool OutputExtents::evaluate(std::span<const Tensor* const> inputs,
                             std::vector<std::pair<DType, Shape>>& types) const {
  Shape symbols;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (!fits(inputs_[k], inputs[k]) || !read_symbols(inputs_[k].axes, inputs[k]->shape(), symbols))
      return false;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (const auto& elements = inputs_[k].elements; !elements.empty())
      if (!inputs[k]->contiguous() ||
          !read_symbols(elements, {inputs[k]->data_as<std::int64_t>(), elements.size()}, symbols))
        return false;
  for (const Computed& condition : conditions_) {
    const auto value = value_of(condition, symbols);
    if (!value || *value < 0) return false;
  }
  types.resize(outputs_.size());
  for (std::size_t j = 0; j < outputs_.size(); ++j) {
    auto& [dtype, shape] = types[j];
    dtype = outputs_[j].dtype;
    shape.clear();
    for (const Computed& extent : outputs_[j].extents) {
      const auto value = value_of(extent, symbols);
      if (!value || *value < 0) return false;
      shape.push_back(*value);
    }
  }
  return true;
}

std::ptrdiff_t OutputExtents::number_of(ir::Symbol name) const {
  const auto at = std::ranges::find(symbols_, name);
  return at == symbols_.end() ? -1 : at - symbols_.begin();
}

std::vector<OutputExtents::Axis> OutputExtents::numbered(const ir::Extents& extents) {
  std::vector<Axis> axes;
  for (const ir::Extent& e : extents) {
    if (e.symbolic() && number_of(e.symbol) < 0) symbols_.push_back(e.symbol);
    axes.push_back({e.value, e.symbolic() ? number_of(e.symbol) : -1});
  }
  return axes;
}

/// Symbols are numbered as they are read: those of all shapes, then those of lists.
bool OutputExtents::add_inputs(const ShapeClass& c) {
  for (std::size_t k = 0; k < c.types.size(); ++k) {
    if (!c.types[k].is_tensor()) return false;
    inputs_.push_back(
        {c.types[k].dtype(), c.contiguous[k], numbered(c.types[k].extents()), c.values[k], {}});
  }
  const auto is_unknown = [](const ir::Extent& e) { return !e.known() && !e.symbolic(); };
  for (std::size_t k = 0; k < c.elements.size(); ++k) {
    if (std::ranges::any_of(c.elements[k], is_unknown)) return false;
    inputs_[k].elements = numbered(c.elements[k]);
  }
  return true;
}

/// Nothing where it is unknown or has names that the class has not.
std::optional<OutputExtents::Computed> OutputExtents::computed(const ir::Integer& i) const {
  const auto has = [&](ir::Symbol s) { return number_of(s) >= 0; };
  if (i.known()) return Computed{i, -1};
  if (!i.symbolic()) return std::nullopt;
  if (i.symbol.is_name())
    return has(i.symbol) ? std::optional(Computed{i, number_of(i.symbol)}) : std::nullopt;
  return std::ranges::all_of(i.symbol.names(), has) ? std::optional(Computed{i, -1}) : std::nullopt;
}

std::optional<OutputExtents> output_extents(const ir::Graph& g, const ShapeClass& c) {
  OutputExtents made;
  if (!made.add_inputs(c)) return std::nullopt;
  const ir::TypeEnvironment k = type_environment_for(g, c);
  if (!k.conditions) return std::nullopt;
  for (const ir::Integer& condition : *k.conditions) {
    const auto value = made.computed(condition);
    if (!value) return std::nullopt;
    made.conditions_.push_back(*value);
  }
  for (const ir::ValueId v : g.root().results) {
    const ir::Type& t = k.types[ir::index(v)];
    if (!t.is_tensor() || !t.has_rank()) return std::nullopt;
    OutputExtents::Output output{t.dtype(), {}};
    for (const ir::Extent& e : t.extents()) {
      const auto extent = made.computed(e);
      if (!extent) return std::nullopt;
      output.extents.push_back(*extent);
    }
    made.outputs_.push_back(std::move(output));
  }
  return made;
}

}  // namespace rondel::passes
