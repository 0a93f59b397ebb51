#include "frontends/network/inference.h"

#include "base/axis.h"
#include "base/error.h"
#include "base/text.h"
#include "frontends/network/rule.h"
#include "ir/infer.h"

#include <algorithm>
#include <set>
#include <span>

namespace rondel::network {
namespace {

const ir::Type& type_of(const LayerData& l, std::size_t input) {
  const TensorData* t = l.input(input);
  require_at(t != nullptr, describe(l), "its input {} is not set", input);
  return l.network.inferred.find(*t)->type;
}

/// The tensors to infer first: all inputs, except a recurrence's next value, whose type cannot
/// differ from the initial value's.
std::vector<const TensorData*> needed_first(const TensorData& t) {
  std::vector<const TensorData*> all;
  if (t.producer == nullptr) return all;
  const LayerData& l = *t.producer;
  const std::size_t count = l.type == LayerType::kRECURRENCE ? 1 : l.inputs.size();
  for (std::size_t k = 0; k < count; ++k)
    if (l.input(k) != nullptr) all.push_back(l.input(k));
  if (l.type == LayerType::kLOOP_OUTPUT)  // the trip count determines a concatenation's extent
    for (const LayerData* limit : l.construct->boundary)
      if (limit->type == LayerType::kTRIP_LIMIT && !is_while(*limit) && limit->input(0) != nullptr)
        all.push_back(limit->input(0));
  return all;
}

/// The layer's axis, counted from the front.
std::int64_t axis_of(const LayerData& l, std::int64_t rank, const ir::Type& of) {
  const std::int64_t axis = l.parameters.i("axis");
  require_at(has_axis(axis, rank), describe(l),
             "axis {} is out of range; expected {} to {} for {} {}", axis, -rank, rank - 1,
             l.type == LayerType::kITERATOR ? "an iterator over" : "a concatenation of",
             to_text(of));
  return axis_from_front(axis, rank);
}

ir::Type iterator_type(const LayerData& l) {
  const ir::Type& whole = type_of(l, 0);
  if (!whole.has_rank()) return whole;
  require_at(whole.rank() > 0, describe(l),
             "an iterator over a scalar; expected a tensor of one axis or more");
  ir::Extents extents = whole.extents();
  extents.erase(extents.begin() + axis_of(l, whole.rank(), whole));
  return ir::Type::tensor(whole.dtype(), std::move(extents));
}

/// The extent of a concatenation along its axis: its length, else the loop's trip count; unknown if
/// that has not been inferred.
ir::Extent joined_extent(const LayerData& l) {
  const auto extent = l.input(1) != nullptr ? inferred_integer(l.input(1))
                                            : inferred_trips(*l.construct);
  return extent && *extent >= 0 ? ir::Extent(*extent) : ir::Extent();
}

ir::Type loop_output_type(const LayerData& l) {
  const ir::Type& item = type_of(l, 0);
  if (static_cast<LoopOutput>(l.parameters.i("output")) == LoopOutput::kLAST_VALUE) return item;
  if (!item.has_rank()) return item;
  ir::Extents extents = item.extents();
  extents.insert(extents.begin() + axis_of(l, item.rank() + 1, item), joined_extent(l));
  return ir::Type::tensor(item.dtype(), std::move(extents));
}

ir::Type conditional_output_type(const LayerData& l) {
  const ir::Type &a = type_of(l, 0), &b = type_of(l, 1);
  const auto joined = join(a, b);
  require(joined.has_value() && (!a.has_rank() || !b.has_rank() || a.rank() == b.rank()),
          "{} gives {} when true and {} when false; expected one element type and rank",
          describe(l), to_text(a), to_text(b));
  return *joined;
}

/// The types of an ordinary layer's outputs. The layer's rule is applied in a temporary graph.
std::vector<Inferred> infer_ordinary_layer(const LayerData& l) {
  ir::Graph g;
  ir::Builder b(g, ir::RegionId::root);
  std::vector<ValueId> inputs;
  for (const TensorData* t : l.inputs) {
    if (t == nullptr) {
      inputs.push_back(ValueId::none);
      continue;
    }
    const Inferred& k = *l.network.inferred.find(*t);
    inputs.push_back(k.value ? b.constant(*k.value)
                             : g.add_param(ir::RegionId::root, k.type, t->name));
  }
  const std::vector<ValueId> outputs = apply_rule(b, l, inputs);
  ir::TypeEnvironment environment = ir::type_environment(g);
  ir::infer_region(g, ir::RegionId::root, environment);
  std::vector<Inferred> all;
  for (const ValueId v : outputs) {
    const Tensor* value = environment.value(v);
    all.push_back({environment.types[index(v)],
                   value != nullptr ? std::optional<Tensor>(*value) : std::nullopt});
  }
  return all;
}

std::vector<Inferred> infer_layer(const LayerData& l) {
  switch (l.type) {
    case LayerType::kRECURRENCE: return {{type_of(l, 0), {}}};
    case LayerType::kITERATOR: return {{iterator_type(l), {}}};
    case LayerType::kLOOP_OUTPUT: return {{loop_output_type(l), {}}};
    case LayerType::kCONDITIONAL_INPUT:
      type_of(l, 0);
      return {*l.network.inferred.find(*l.input(0))};
    case LayerType::kCONDITIONAL_OUTPUT: return {{conditional_output_type(l), {}}};
    default: return infer_ordinary_layer(l);
  }
}

/// Appends the layers between `made` and `user`, including the producer of `user`. A trip count is
/// read through its limit layer.
void add_step(std::vector<std::string>& path, const TensorData& user, const TensorData& made) {
  const LayerData& l = *user.producer;
  if (std::ranges::find(l.inputs, &made) == l.inputs.end())
    for (const LayerData* limit : l.construct->boundary)
      if (limit->type == LayerType::kTRIP_LIMIT && limit->input(0) == &made)
        path.push_back(describe(*limit));
  path.push_back(describe(l));
}

/// The path as text. A long path is cut to its first and last layers.
std::string path_text(const std::vector<std::string>& path) {
  constexpr std::size_t max_shown = 8;
  if (path.size() <= max_shown) return rondel::join(path, " -> ");
  const std::span all(path);
  return fmt::format("{} -> {} more -> {}", rondel::join(all.first(max_shown / 2), " -> "),
                     path.size() - max_shown, rondel::join(all.last(max_shown / 2), " -> "));
}

/// `uses`: tensors, each computed from the next. The last tensor needs `needed_first`, which is in
/// the list.
[[noreturn]] void refuse_cycle(std::span<const TensorData* const> uses,
                               const TensorData& needed_first) {
  const auto first = std::ranges::find(uses, &needed_first);
  std::vector<std::string> path{describe(*needed_first.producer)};
  const TensorData* made = &needed_first;
  for (auto it = uses.end(); it != first; made = *it) add_step(path, **--it, *made);
  fail(
      "{} depends on itself by a path that is not through the second input of a recurrence: {}; "
      "expected what a trip takes from the one before it to be the second input of a recurrence",
      describe(needed_first), path_text(path));
}

}  // namespace

std::optional<std::int64_t> inferred_integer(const TensorData* t) {
  if (t == nullptr) return std::nullopt;
  const Inferred* k = t->network.inferred.find(*t);
  if (k == nullptr || !k->value || !is_integer(k->value->dtype()) || k->value->size() != 1)
    return std::nullopt;
  return ir::integers_of(*k->value)[0];
}

std::optional<std::int64_t> inferred_trips(const ConstructData& loop) {
  std::optional<std::int64_t> trips;
  for (const LayerData* limit : loop.boundary) {
    if (limit->type != LayerType::kTRIP_LIMIT) continue;
    if (is_while(*limit)) return std::nullopt;
    trips = inferred_integer(limit->input(0));
  }
  if (trips) trips = std::max<std::int64_t>(*trips, 0);
  return trips;
}

const Inferred& infer(const TensorData& wanted) {
  InferenceCache& all = wanted.network.inferred;
  std::vector<const TensorData*> stack{&wanted}, path;
  std::set<const TensorData*> begun;
  while (!stack.empty()) {
    const TensorData& t = *stack.back();
    if (all.find(t) != nullptr) {
      stack.pop_back();
      continue;
    }
    if (begun.insert(&t).second) {
      path.push_back(&t);
      for (const TensorData* before : needed_first(t)) {
        if (all.find(*before) != nullptr) continue;
        if (begun.contains(before)) refuse_cycle(path, *before);
        stack.push_back(before);
      }
      continue;
    }
    stack.pop_back();
    path.pop_back();
    if (t.producer == nullptr) {
      all.add(t, {t.declared, {}});
      continue;
    }
    std::vector<Inferred> outputs = infer_layer(*t.producer);
    for (std::size_t j = 0; j < outputs.size(); ++j)
      all.add(*t.producer->outputs[j], std::move(outputs[j]));
  }
  return *all.find(wanted);
}

}  // namespace rondel::network
