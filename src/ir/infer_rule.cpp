// One node: its op's rule, and what the rule says of its outputs.
#include "ir/inference.h"
#include "ir/range.h"
#include "ir/user_op.h"

#include <algorithm>
#include <set>

namespace rondel::ir {
namespace {

/// Results of more elements than this are folded only if the inputs have at least as many elements.
constexpr std::int64_t most_folded_elements = 1024;

/// What two extents broadcast to, if they do: if they are equal, or one of them is 1. A short
/// expression, because long ones are not kept.
Integer broadcast(const Integer& a, const Integer& b) { return floor_div(a * b, min(a, b)); }

}  // namespace

void Inference::rule(NodeId n) {
  check_arity(n);
  const Node& node = g_.node(n);
  std::vector<const Type*> types;
  std::vector<const Tensor*> values;
  std::vector<const Integers*> elements;
  std::vector<Integers> by_trip;  // elements that the rule can compare with trip indices
  by_trip.reserve(node.inputs.size());
  for (const ValueId v : node.inputs) {
    types.push_back(v == ValueId::none ? nullptr : &type(v));
    values.push_back(v == ValueId::none ? nullptr : k_.value(v));
    const auto known = k_.elements.find(static_cast<std::int32_t>(v));
    elements.push_back(known == k_.elements.end() ? nullptr : &known->second);
    if (elements.back() == nullptr || by_trip_.empty()) continue;
    by_trip.push_back(known->second);
    for (Integer& i : by_trip.back()) i = by_trip_index(i);
    elements.back() = &by_trip.back();
  }
  TypeContext context(node.attributes, types, values, elements, node.outputs.size(), &k_.trips,
                      k_.measure ? position_names(node) : PositionNames(),
                      k_.measure ? broadcast_names() : BroadcastNames());
  try {
    node.op->type(context);
  } catch (const Error& e) {
    throw Error(e.blame(), with_inputs(e.message(), node), e.frames()).within(where(g_, n));
  }
  for (std::size_t j = 0; j < node.outputs.size(); ++j)
    if (node.outputs[j] != ValueId::none)
      type(node.outputs[j]) = named(of_all_trips(context.outputs()[j]), node.outputs[j]);
  keep(node, context);
  const std::optional<Integers> conditions = context.conditions();
  if (k_.name_unknowns) k_.node_conditions[static_cast<std::int32_t>(n)] = conditions;
  if (!conditions || (!k_.measure && std::ranges::any_of(*conditions, depends_on_trip())))
    k_.conditions.reset();
  else if (k_.conditions)
    k_.conditions->insert(k_.conditions->end(), conditions->begin(), conditions->end());
  if (evaluate_ && context.known().empty()) fold(n, values);
}

void Inference::check_arity(NodeId n) {
  const Node& node = g_.node(n);
  const auto& defs = node.op->inputs;
  const bool open = !defs.empty() && defs.back().kind == InputDef::variadic;
  if (node.inputs.size() > defs.size() && !open)
    fail_at(n, "{} inputs given; {} takes at most {}", node.inputs.size(), node.op->name,
            defs.size());
  for (std::size_t i = 0; i < defs.size(); ++i) {
    const bool given = i < node.inputs.size() && node.inputs[i] != ValueId::none;
    if (!given && defs[i].kind == InputDef::needed)
      fail_at(n, "input '{}' is missing", defs[i].name);
  }
  if (open && user_op(*node.op) != nullptr) return;  // any of its inputs may be left out
  for (std::size_t i = defs.size() - 1; open && i < node.inputs.size(); ++i)
    if (node.inputs[i] == ValueId::none) fail_at(n, "input {} is left out; it is needed", i);
  for (const auto attribute : node.op->required)
    if (!node.attributes.has(attribute)) fail_at(n, "attribute '{}' is missing", attribute);
}

std::string Inference::with_inputs(const std::string& message, const Node& node) {
  const std::size_t hint = message.ends_with('?') ? message.rfind("; ") : std::string::npos;
  return message.substr(0, hint) + inputs_text(node) +
         (hint == std::string::npos ? "" : message.substr(hint));
}

std::string Inference::inputs_text(const Node& node) {
  std::string text;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    const auto& defs = node.op->inputs;
    const std::string port = defs.empty() ? std::to_string(i)
                                          : std::string(defs[std::min(i, defs.size() - 1)].name);
    text += (text.empty() ? "; " : " ") + port + "=" + to_text(type(node.inputs[i]));
  }
  return text;
}

void Inference::keep(const Node& node, const TypeContext& said) {
  const auto each = [&](const auto& list, const auto& put) {
    for (const auto& [j, what] : list)
      if (j < node.outputs.size() && node.outputs[j] != ValueId::none)
        put(static_cast<std::int32_t>(node.outputs[j]), what);
  };
  const auto is_known = [](const Integer& e) { return e.known() || e.symbolic(); };
  each(said.known(), [&](auto v, const Tensor& t) { k_.values[v] = t; });
  each(said.made_elements(), [&](auto v, Integers e) {
    for (Integer& i : e) i = by_state(i).value_or(i);
    // Arithmetic in 64 bits wraps around, expressions do not.
    const auto of_one_tensor = [&](auto names) { return are_extents_of_one_value(names); };
    const auto wraps = [&](const Integer& i) {
      return i.symbolic() && !never_wraps(i, of_one_tensor);
    };
    std::ranges::replace_if(e, wraps, Integer());
    if (std::ranges::any_of(e, is_known)) k_.elements[v] = e;
    if (std::ranges::all_of(e, &Integer::known)) keep_list(v, e);
  });
  each(said.same(), [&](auto v, std::size_t k) { k_.same[v] = node.inputs[k]; });
}

bool Inference::are_extents_of_one_value(std::span<const Symbol> names) const {
  for (std::size_t v = 0; v < g_.value_count(); ++v) {
    const Type* t = k_.types.find(v);
    if (t == nullptr || !t->is_tensor() || !t->has_rank()) continue;
    std::vector<Symbol> left(names.begin(), names.end());
    for (const Extent& e : t->extents())
      if (const auto at = std::ranges::find(left, e.symbol); at != left.end()) left.erase(at);
    if (left.empty()) return true;
  }
  return false;
}

void Inference::keep_list(std::int32_t v, const Integers& elements) {
  const Type& t = k_.types[static_cast<std::size_t>(v)];
  if (t.dtype() != DType::i64 || !t.is_static() || k_.values.contains(v)) return;
  Ints numbers;
  for (const Integer& e : elements) numbers.push_back(*e.number);
  k_.values[v] = Tensor::from<std::int64_t>(t.static_shape(),
                                            std::span<const std::int64_t>(numbers));
}

void Inference::fold(NodeId n, std::span<const Tensor* const> values) {
  const Node& node = g_.node(n);
  if (node.op->random || !node.regions.empty() || node.outputs.empty()) return;
  std::int64_t read = 0, made = 0;
  bool all_are_static = true;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] == ValueId::none) continue;
    if (values[i] == nullptr) return;
    const auto end = node.inputs.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(node.inputs.begin(), end, node.inputs[i]) == end) read += values[i]->size();
  }
  for (const ValueId v : node.outputs) {
    if (v == ValueId::none) continue;
    const Type& t = type(v);
    if (t.is_static()) made += element_count(t.static_shape());
    else if (node.op->selects_elements && read <= most_folded_elements) all_are_static = false;
    else return;
  }
  if (made > std::max(read, most_folded_elements)) return;
  const std::vector<Value> results = evaluate_(g_, n, values);
  for (std::size_t j = 0; j < results.size() && j < node.outputs.size(); ++j)
    if (node.outputs[j] != ValueId::none && results[j].is_tensor()) {
      if (!all_are_static) type(node.outputs[j]) = Type::of(results[j]);
      k_.values[static_cast<std::int32_t>(node.outputs[j])] = results[j].tensor().packed();
    }
}

Type Inference::of_all_trips(const Type& t) {
  if (!t.is_tensor() || !t.has_rank() || std::ranges::none_of(t.extents(), depends_on_trip()))
    return t;
  Extents extents = t.extents();
  for (Extent& e : extents)
    if (depends_on_trip()(e)) e = by_name(e);
  return Type::tensor(t.dtype(), std::move(extents));
}

Extent Inference::by_name(const Integer& e) {
  const Integer in_trip = k_.trips.simplified(by_trip_index(e));
  if (!depends_on_trip()(in_trip)) return Extent(in_trip);
  if (const auto same = by_state(in_trip)) return Extent(*same);
  return k_.measure ? Extent(measured(in_trip.symbol.text(), {in_trip})) : Extent();
}

Type Inference::named(const Type& t, ValueId v) const {
  if (!k_.name_unknowns || !t.is_tensor() || !t.has_rank()) return t;
  Extents extents = t.extents();
  for (std::size_t a = 0; a < extents.size(); ++a)
    if (!extents[a].known() && !extents[a].symbolic())
      extents[a] = Extent::own(fmt::format("v{}.{}", index(v), a));
  return Type::tensor(t.dtype(), std::move(extents));
}

PositionNames Inference::position_names(const Node& node) {
  return [&](std::size_t k, std::size_t i, const Extent& axis) {
    const ValueId list = node.inputs[k];
    const std::string key = fmt::format("{} {} {}", index(list), i, to_text(Integer(axis)));
    return Integer(measured(key, {{}, list, i, axis}));
  };
}

BroadcastNames Inference::broadcast_names() {
  return [&](const Extent& a, const Extent& b) {
    std::set<Symbol> all;
    for (const Extent& e : {a, b}) {
      const auto at = k_.measures.find(e.symbol);
      if (at == k_.measures.end() || at->second.broadcast.empty()) all.insert(e.symbol);
      else
        for (const Extent& part : at->second.broadcast) all.insert(part.symbol);
    }
    Measure how;
    std::string key = "broadcast";
    for (const Symbol s : all) {
      how.broadcast.emplace_back(s);
      how.expression = how.broadcast.size() == 1 ? Integer(s)
                                                 : broadcast(how.expression, Integer(s));
      key += " " + s.text();
    }
    return how.expression.known_or_symbolic() ? Extent(measured(key, how)) : Extent();
  };
}

Symbol Inference::measured(const std::string& key, const Measure& how) {
  const auto [at, made] = measured_.try_emplace(key);
  if (made) at->second = Symbol::own(fmt::format("m{}", k_.measures.size()));
  k_.measures.try_emplace(at->second, how);
  return at->second;
}

}  // namespace rondel::ir
