#include "lowering/class_extents.h"

#include "base/dense_rows.h"
#include "ir/infer.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace rondel::lowering {
namespace {

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.shape() != b.shape() || a.dtype() == DType::string) return false;
  const auto bytes = static_cast<std::size_t>(a.size()) * byte_size(a.dtype());
  return bytes == 0 || std::memcmp(a.packed().data(), b.packed().data(), bytes) == 0;
}

}  // namespace

/// Follows `classify`: an extent of 1 is never a symbol, and different symbols have different
/// extents.
bool ClassExtents::read_symbols(std::span<const Axis> axes, std::span<const std::int64_t> extents,
                                std::int64_t most, Shape& symbols) {
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const std::int64_t extent = extents[a];
    const auto symbol = static_cast<std::size_t>(axes[a].symbol);
    if (axes[a].symbol < 0) {
      if (std::max<std::int64_t>(extent, -1) != axes[a].number) return false;
    } else if (extent < 0 || extent > most) {
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

bool ClassExtents::fits(const Input& input, const Tensor* t) {
  return t != nullptr && t->dtype() == input.dtype && t->shape().size() == input.axes.size() &&
         t->contiguous() == input.contiguous && has_dense_rows(*t) == input.dense_rows &&
         (!input.value.defined() || same_bytes(*t, input.value));
}

std::optional<std::int64_t> ClassExtents::value_of(const Computed& c, const Shape& symbols) const {
  if (c.symbol >= 0) return symbols[static_cast<std::size_t>(c.symbol)];
  return ir::evaluate(c.integer, [&](ir::Symbol name) -> std::optional<std::int64_t> {
    return symbols[static_cast<std::size_t>(number_of(name))];
  });
}

bool ClassExtents::read(std::span<const Tensor* const> inputs, Shape& symbols) const {
  constexpr std::int64_t any = std::numeric_limits<std::int64_t>::max();
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (!fits(inputs_[k], inputs[k]) ||
        !read_symbols(inputs_[k].axes, inputs[k]->shape(), any, symbols))
      return false;
  for (std::size_t k = 0; k < inputs_.size(); ++k)
    if (const auto& elements = inputs_[k].elements; !elements.empty())
      if (!inputs[k]->contiguous() ||
          !read_symbols(elements, {inputs[k]->data_as<std::int64_t>(), elements.size()},
                        ir::largest_listed, symbols))
        return false;
  return true;
}

bool ClassExtents::conditions_hold(const Shape& symbols) const {
  return std::ranges::all_of(conditions_, [&](const Computed& condition) {
    const auto value = value_of(condition, symbols);
    return value && *value >= 0;
  });
}

bool ClassExtents::conditions_hold(std::span<const Tensor* const> inputs) const {
  Shape symbols;
  if (!read(inputs, symbols)) return false;
  symbols.resize(symbols_.size());
  return conditions_hold(symbols);
}

bool ClassExtents::evaluate(std::span<const Tensor* const> inputs,
                            std::vector<std::pair<DType, Shape>>& types, Rules rules,
                            std::span<const std::int64_t> given) const {
  Shape symbols;
  if (!read(inputs, symbols)) return false;
  symbols.insert(symbols.end(), given.begin(), given.end());
  symbols.resize(symbols_.size());
  if (rules == Rules::unchecked && !(all_conditions_ && conditions_hold(symbols))) return false;
  types.resize(results_.size());
  for (std::size_t j = 0; j < results_.size(); ++j) {
    auto& [dtype, shape] = types[j];
    dtype = results_[j].dtype;
    shape.clear();
    for (const Computed& extent : results_[j].extents) {
      const auto value = value_of(extent, symbols);
      if (!value || *value < 0) return false;
      shape.push_back(*value);
    }
  }
  return true;
}

std::ptrdiff_t ClassExtents::number_of(ir::Symbol name) const {
  const auto at = std::ranges::find(symbols_, name);
  return at == symbols_.end() ? -1 : at - symbols_.begin();
}

std::vector<ClassExtents::Axis> ClassExtents::numbered(const ir::Extents& extents) {
  std::vector<Axis> axes;
  for (const ir::Extent& e : extents) {
    if (e.symbolic() && number_of(e.symbol) < 0) symbols_.push_back(e.symbol);
    axes.push_back({e.value, e.symbolic() ? number_of(e.symbol) : -1});
  }
  return axes;
}

/// Symbols are numbered in the order in which `read` meets them: first those of all shapes, then
/// those of lists.
bool ClassExtents::add_inputs(const ShapeClass& c) {
  for (std::size_t k = 0; k < c.types.size(); ++k) {
    if (!c.types[k].is_tensor()) return false;
    inputs_.push_back({c.types[k].dtype(),
                       c.contiguous[k],
                       c.dense_rows[k],
                       numbered(c.types[k].extents()),
                       c.values[k],
                       {}});
  }
  for (std::size_t k = 0; k < c.elements.size(); ++k) inputs_[k].elements = numbered(c.elements[k]);
  return true;
}

void ClassExtents::add_conditions(const RuleConditions& conditions) {
  all_conditions_ = conditions.complete;
  for (const ir::Integer& condition : conditions.stated) {
    const auto is_it = [&](const Computed& c) { return c.integer == condition; };
    if (condition.at_least(0) || std::ranges::any_of(conditions_, is_it)) continue;
    if (const auto value = computed(condition)) conditions_.push_back(*value);
    else all_conditions_ = false;
  }
}

bool ClassExtents::add_result(const ir::Type& t) {
  results_.emplace_back();
  if (!t.is_tensor()) return true;
  if (!t.has_rank()) return false;
  results_.back().dtype = t.dtype();
  for (const ir::Extent& e : t.extents()) {
    const auto extent = computed(e);
    if (!extent) return false;
    results_.back().extents.push_back(*extent);
  }
  return true;
}

/// Nullopt if the integer is unknown or has symbols that are not in the class.
std::optional<ClassExtents::Computed> ClassExtents::computed(const ir::Integer& i) const {
  const auto has = [&](ir::Symbol s) { return number_of(s) >= 0; };
  if (i.known()) return Computed{i, -1};
  if (!i.symbolic()) return std::nullopt;
  if (i.symbol.is_name())
    return has(i.symbol) ? std::optional(Computed{i, number_of(i.symbol)}) : std::nullopt;
  return std::ranges::all_of(i.symbol.names(), has) ? std::optional(Computed{i, -1}) : std::nullopt;
}

std::optional<ClassExtents> ClassExtents::make(const ShapeClass& c,
                                               const RuleConditions& conditions,
                                               std::span<const ir::Type> types,
                                               std::span<const ir::Symbol> given) {
  ClassExtents made;
  if (!made.add_inputs(c)) return std::nullopt;
  made.symbols_.insert(made.symbols_.end(), given.begin(), given.end());
  made.add_conditions(conditions);
  for (const ir::Type& t : types)
    if (!made.add_result(t)) return std::nullopt;
  return made;
}

std::optional<ClassExtents> output_extents(const ir::Graph& g, const ShapeClass& c) {
  const ir::TypeEnvironment k = type_environment_for(g, c);
  std::vector<ir::Type> types;
  for (const ir::ValueId v : g.root().results) types.push_back(k.types[ir::index(v)]);
  if (!std::ranges::all_of(types, &ir::Type::is_tensor)) return std::nullopt;
  if (!k.conditions) return std::nullopt;
  auto made = ClassExtents::make(c, {*k.conditions, true}, types);
  return made && made->has_all_conditions() ? std::move(made) : std::nullopt;
}

}  // namespace rondel::lowering
