// What keeps a tree from being lowered: values and extents that are not known in time, and rules of
// ops that depend on them; and which rules the program checks instead.
#include "base/error.h"
#include "lowering/empty_stacks.h"
#include "lowering/extent_expression.h"
#include "lowering/region_tree.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::ValueId;

/// Refuses a value that is not known to have one element, because programs read that element.
void RegionTree::check_element(ValueId v, const char* what) {
  if (g_.constant(v) == nullptr && type(v).is_tensor() && !is_one_element(v))
    refuse(v,
           fmt::format("{} ({}) is {}, which is not known to be one element", what, named(v),
                       shown_type(v)),
           "declare its shape");
}

/// Whether a stack has the same type without trips as with some (docs/loops.md, rule 3): its rank
/// follows from the model or is declared, its extents from types alone.
bool RegionTree::empty_stack_known(NodeId n, std::size_t k, const ir::Type& without_trips) const {
  const LoopParts& parts = g_.node(n).loop();
  const ValueId item = g_.region(parts.body).results[1 + parts.states + k];
  const std::int64_t rank = type(item).rank();
  const auto has_rank = [&](const ir::Type& t) {
    return t.is_tensor() && t.has_rank() && t.rank() == rank;
  };
  if (!has_rank(declared_item(g_, n, k)) || !has_rank(without_trips)) return false;
  for (std::int64_t a = 0; a < rank; ++a)
    if (extent_known(type(item).extent(a)) && !(type(item).extent(a) == without_trips.extent(a)))
      return false;
  return true;
}

/// Whether inference says the same of a node's results if its rule does not hold: the graph tells
/// their types, with all extents as numbers, and no elements are known.
bool RegionTree::is_typed_by_graph(NodeId n) const {
  return std::ranges::all_of(g_.node(n).outputs, [&](ValueId v) {
    if (v == ValueId::none) return true;
    const ir::Type& t = g_.value(v).type;
    const auto list = k_.elements.find(static_cast<std::int32_t>(v));
    const bool no_elements = list == k_.elements.end() ||
                             std::ranges::none_of(list->second, &ir::Integer::known_or_symbolic);
    return t.is_tensor() && t.is_static() && t == type(v) && no_elements && k_.value(v) == nullptr;
  });
}

/// Rules in the body of a loop that may make no trip are checked when a trip runs. Where one
/// depends on extents that become known before the loop, but inside of the tree, it may not hold,
/// and an empty stack then may have another shape. `before`: the conditions and late extents before
/// the body.
void RegionTree::check_rules_of_empty(NodeId loop, const Late& before) {
  const auto is_late = [&](ir::Symbol name) { return before.extents.contains(name); };
  for (const auto& [n, conditions] : conditions_inside_)
    if (!before.nodes.contains(n) && !is_typed_by_graph(n))
      for (const ir::Integer& i : conditions)
        if (std::ranges::any_of(names_in(i), is_late))
          return refuse(loop,
                        fmt::format("{} may make no trip, and what it stacks then depends on "
                                    "whether {} would accept its operands",
                                    ir::where(g_, loop), ir::where(g_, n)),
                        "declare extents");
}

RegionTree::Late RegionTree::late() const {
  Late all;
  all.extents = bounds_.all();
  for (const auto& [n, conditions] : conditions_inside_) all.nodes.insert(n);
  return all;
}

/// Operands that types depend on must have known values, or be computed from extents of the class,
/// which are checked before each run, and from trip indices: inferred types hold in all trips. Or
/// the program finds the extents that depend on their values.
void RegionTree::check_values(NodeId n) {
  const ir::Node& node = g_.node(n);
  for (const std::size_t k : node.op->value_inputs) {
    const ValueId v = k < node.inputs.size() ? node.inputs[k] : ValueId::none;
    if (v == ValueId::none || k_.value(v) != nullptr) continue;
    if (ops::may_read(*node.op, k)) continue;
    const bool for_types_only = std::ranges::count(node.op->program_values, k) == 0;
    if (!for_types_only || !(finds_extents(n) || follows_from_extents(v) || extents_found(n)))
      refuse_itself(
          n,
          fmt::format("{} needs {} before the run, and data decide it", ir::where(g_, n), named(v)),
          "compute it from shapes, constants or the trip");
  }
}

/// Whether the node's rule accepts any values, and says how extents follow from them.
bool RegionTree::extents_found(NodeId n) const {
  const auto has = [&](ir::Symbol name) { return is_found(name); };
  return k_.node_conditions.at(static_cast<std::int32_t>(n)) &&
         std::ranges::all_of(g_.node(n).outputs, [&](ValueId v) {
           return v == ValueId::none || std::ranges::all_of(type(v).extents(), [&](const auto& e) {
                    return can_express(e, has);
                  });
         });
}

/// The rule of a node was applied to the extents of the class before the run. What it requires of
/// extents that become known inside, the program checks; a rule that cannot say it is refused.
/// Rules of nodes inside of a loop or an `if` are visited on their own, and what the loop or `if`
/// itself requires of its operands (`visit_loop`, `visit_if`) must be known before the program
/// runs.
void RegionTree::check_rule(NodeId n) {
  const ir::Node& node = g_.node(n);
  const auto is_late = [&](ValueId v) {
    return v != ValueId::none && type(v).is_tensor() && type(v).has_rank() && !extents_known(v);
  };
  if (!node.regions.empty() || (finds_extents(n) && !kernel_finds_extents(n))) return;
  const auto in_class = [&](ir::Symbol name) { return class_names_.contains(name); };
  const auto has = [&](ir::Symbol name) { return is_found(name); };
  const std::optional<ir::Integers>& conditions = k_.node_conditions.at(
      static_cast<std::int32_t>(n));
  if (std::ranges::none_of(node.inputs, is_late) && std::ranges::none_of(node.outputs, is_late) &&
      !(conditions && depends_on_late(*conditions)))
    return;
  if (!conditions ||
      !std::ranges::all_of(*conditions, [&](const ir::Integer& i) { return can_express(i, has); }))
    return refuse(
        n,
        fmt::format("whether {} accepts its operands depends on extents that become known inside",
                    ir::where(g_, n)),
        "extents that are known before would do");
  for (const ir::Integer& i : *conditions)
    if (!k_.trips.never_negative(i) && !can_express(i, in_class))
      conditions_inside_[n].push_back(i);
}

/// Whether the program has the integer that a name stands for: before it runs, or with a bound.
bool RegionTree::is_found(ir::Symbol name) const {
  return class_names_.contains(name) || bounds_.contains(name);
}

bool RegionTree::depends_on_late(const ir::Integers& list) const {
  const auto is_late = [&](ir::Symbol name) {
    return bounds_.contains(name) || k_.trips.contains(name);
  };
  return std::ranges::any_of(
      list, [&](const ir::Integer& i) { return std::ranges::any_of(names_in(i), is_late); });
}

bool RegionTree::follows_from_extents(ValueId v) const {
  const auto list = k_.elements.find(static_cast<std::int32_t>(v));
  const auto has = [&](ir::Symbol name) { return is_found(name) || k_.trips.contains(name); };
  return list != k_.elements.end() &&
         std::ranges::all_of(list->second, [&](const auto& e) { return can_express(e, has); });
}

void RegionTree::check_type(ValueId v) {
  if (!is_native(type(v))) refuse_type(v);
}

void RegionTree::check_extents(ValueId v) {
  const ir::Type& t = type(v);
  if (!t.is_tensor() || !t.has_rank()) return;
  for (const ir::Extent& e : t.extents()) {
    if (extent_known(e)) {
      if (e.symbolic() && !e.symbol.is_name()) expressions_.insert(e.symbol);
    } else if (const ir::Extent bound = bounds_.most(e); !bound.known_or_symbolic()) {
      return refuse_extents(v);
    }
  }
  check_size(v);
}

/// Sizes that follow from symbols are checked when they are computed, before each run.
void RegionTree::check_size(ValueId v) {
  const ir::Type t = memory_type(v);
  auto bytes = static_cast<std::int64_t>(byte_size(t.dtype()));
  for (const ir::Extent& e : t.extents())
    if (__builtin_mul_overflow(bytes, e.known() ? e.value : 1, &bytes))
      return refuse(
          v, fmt::format("the size of {} ({}) does not fit into 64 bits", named(v), to_text(t)));
}

// What the rules of ops require.

RuleConditions RegionTree::conditions() const {
  RuleConditions all{.stated = k_.conditions.value_or(ir::Integers()),
                     .complete = k_.conditions.has_value(),
                     .evaluated = evaluated_};
  if (!all.complete)
    for (const auto& [n, conditions] : k_.node_conditions)
      if (conditions) all.stated.insert(all.stated.end(), conditions->begin(), conditions->end());
  std::erase_if(all.stated, [&](const ir::Integer& i) {
    return std::ranges::any_of(names_in(i),
                               [&](ir::Symbol name) { return bounds_.contains(name); });
  });
  return all;
}

const ir::Integers& RegionTree::conditions_inside(NodeId n) const {
  static const ir::Integers none;
  const auto it = conditions_inside_.find(n);
  return it == conditions_inside_.end() ? none : it->second;
}

}  // namespace rondel::lowering
