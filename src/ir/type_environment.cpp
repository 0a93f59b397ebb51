#include "ir/type_environment.h"

#include "base/axis.h"
#include "ir/range.h"

#include <algorithm>

namespace rondel::ir {
namespace {

/// Adds what a node and its regions read.
void add_reads(const Graph& g, NodeId n, std::vector<ValueId>& reads) {
  const auto add = [&](const std::vector<ValueId>& more) {
    reads.insert(reads.end(), more.begin(), more.end());
  };
  add(g.node(n).inputs);
  for (const RegionId r : g.node(n).regions) add(g.captures(r));
}

/// Tensors in a list, or in an optional, need not have the extents that have these names elsewhere.
Type without_symbols(const Type& t) {
  if (t.is_sequence()) return Type::sequence(without_symbols(t.element()));
  if (t.is_optional()) return Type::optional(without_symbols(t.element()));
  if (!t.is_tensor() || !t.has_rank()) return t;
  Extents extents = t.extents();
  for (Extent& e : extents)
    if (!e.known()) e = {};
  return Type::tensor(t.dtype(), std::move(extents));
}

}  // namespace

Integer TypeEnvironment::integer(ValueId v) const {
  if (const Tensor* t = value(v); t != nullptr && t->size() == 1 && is_integer(t->dtype())) {
    const std::int64_t number = integers_of(*t)[0];
    return number < 0 && t->dtype() == DType::u64 ? Integer() : Integer(number);
  }
  const auto known = elements.find(static_cast<std::int32_t>(v));
  return known != elements.end() && known->second.size() == 1 ? known->second[0] : Integer();
}

Integer Measure::most() const {
  if (list != ValueId::none) return Integer(axis);
  if (broadcast.empty()) return expression;
  Integer largest = 0;
  for (const Extent& e : broadcast) largest = max(largest, e);
  return largest;
}

Integer TypeEnvironment::without_measures(const Integer& i) const {
  const auto is_measured = [&](Symbol name) { return measures.contains(name); };
  if (!i.symbolic() || std::ranges::none_of(i.symbol.names(), is_measured)) return i;
  const Integer most = greatest(i, [&](Symbol name) {
    return is_measured(name) ? std::optional(Range{0, measures.at(name).most()}) : std::nullopt;
  });
  return most.known_or_symbolic() ? without_measures(most) : i;
}

ValueId TypeEnvironment::original(ValueId v) const {
  for (auto it = same.find(static_cast<std::int32_t>(v)); it != same.end();
       it = same.find(static_cast<std::int32_t>(v)))
    v = it->second;
  return v;
}

Extent trips_of(const Node& loop, const TypeEnvironment& k) {
  return loop.loop().has_go ? Extent() : Extent(max(most_trips_of(loop, k), 0));
}

Integer most_trips_of(const Node& loop, const TypeEnvironment& k) {
  const LoopParts& parts = loop.loop();
  if (parts.has_trips) return k.integer(loop.inputs[parts.trips_at()]);
  if (parts.scans == 0) return {};
  Integer least;
  for (std::size_t s = 0; s < parts.scans; ++s) {
    const Type& t = k.types[index(loop.inputs[parts.scans_at() + s])];
    const std::int64_t axis = parts.axis_in[s];
    if (!t.has_rank() || !has_axis(axis, t.rank())) return {};
    const Extent& e = t.extent(axis_from_front(axis, t.rank()));
    least = s == 0 ? e : min(least, e);
  }
  return least;
}

std::optional<RegionId> taken_branch(const Node& node, const TypeEnvironment& k) {
  const Tensor* condition = k.value(node.inputs[0]);
  if (condition == nullptr || condition->size() != 1) return std::nullopt;
  return node.regions.at(*condition->data_as<std::uint8_t>() != 0 ? 0 : 1);
}

TypeEnvironment type_environment(const Graph& g) {
  TypeEnvironment k = strict_type_environment(g);
  k.keeps_broken_nodes = g.may_hold_broken_nodes;
  return k;
}

TypeEnvironment strict_type_environment(const Graph& g) {
  TypeEnvironment k;
  k.types.cover(g.value_count());
  for (std::size_t v = 0; v < g.value_count(); ++v) {
    const auto id = static_cast<ValueId>(v);
    k.types[v] = g.value(id).type;
    if (const Tensor* value = g.constant(id))
      k.values.emplace(static_cast<std::int32_t>(v), *value);
  }
  return k;
}

TypeEnvironment environment_of(const Graph& g, std::span<const ValueId> values) {
  TypeEnvironment k;
  k.types = Types(Types::Storage::sparse);
  k.keeps_broken_nodes = g.may_hold_broken_nodes;
  for (const ValueId v : values) {
    if (v == ValueId::none) continue;
    k.types[index(v)] = g.value(v).type;
    if (const Tensor* t = g.constant(v)) k.values[static_cast<std::int32_t>(v)] = *t;
  }
  return k;
}

TypeEnvironment environment_around(const Graph& g, NodeId n) {
  return environment_around(g, std::span(&n, 1));
}

TypeEnvironment environment_around(const Graph& g, std::span<const NodeId> nodes) {
  std::vector<ValueId> reads;
  for (const NodeId n : nodes) add_reads(g, n, reads);
  return environment_of(g, reads);
}

TypeEnvironment named_type_environment(const Graph& g) {
  TypeEnvironment k = type_environment(g);
  k.name_unknowns = true;
  for (const ValueId v : g.root().params) {
    const Type& t = g.value(v).type;
    if (t.is_sequence() || t.is_optional()) k.types[index(v)] = without_symbols(t);
    if (!t.is_tensor() || !t.has_rank()) continue;
    Extents extents = t.extents();
    for (std::size_t a = 0; a < extents.size(); ++a) {
      Extent& e = extents[a];
      if (!e.known() && !e.symbolic()) e = Extent::own(fmt::format("in{}.{}", index(v), a));
    }
    k.types[index(v)] = Type::tensor(t.dtype(), std::move(extents));
  }
  return k;
}

}  // namespace rondel::ir
