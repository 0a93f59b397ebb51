// The walk of a region tree over its regions: groups, where each value is made and read, and what
// loops and branches hold.
#include "base/cancellation.h"
#include "base/error.h"
#include "kernels/on_parts.h"
#include "lowering/empty_stacks.h"
#include "lowering/extent_expression.h"
#include "lowering/region_tree.h"

#include <algorithm>

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

/// A larger `if` gains nothing from being one function: the overhead of its steps is small compared
/// to their work, and equal steps share their code.
constexpr std::size_t most_nodes_of_if = 256;

void RegionTree::visit(RegionId r, std::optional<Position> holder) {
  RegionInfo& here = regions_[r];
  here.holder = holder;
  here.groups = group_nodes(g_, r, k_.types, options_.fuse ? Sharing::parts : Sharing::none,
                            options_.schedule != nullptr ? &remarks_ : nullptr);
  for (const ValueId v : g_.region(r).params) check_type(v);
  for (std::size_t i = 0; i < here.groups.size(); ++i) {
    here.begins.push_back(moment_++);
    visit_group(here.groups[i], {r, i});
    here.ends.push_back(moment_++);
  }
  here.begins.push_back(moment_);
  here.ends.push_back(moment_++);
  const auto& results = g_.region(r).results;
  for (std::size_t j = 0; j < results.size(); ++j)
    read(results[j], {r, here.groups.size()}, NodeId::none, j);
}

void RegionTree::visit_group(const Group& group, Position at) {
  check_cancellation();
  if (group.by_rows) {
    std::optional<RowSchedule> rows = schedule_rows(g_, k_.types, group.nodes, RowsIn::loop);
    invariant(rows.has_value(), "{} has no schedule by rows", ir::where(g_, group.nodes[0]));
    rows_.emplace(group.nodes[0], *std::move(rows));
  }
  for (const NodeId n : group.nodes) {
    const ir::Node& node = g_.node(n);
    for (std::size_t k = 0; k < node.inputs.size(); ++k)
      if (const ValueId v = node.inputs[k]; v != ValueId::none && needs_elements(node, v))
        read(v, at, n, k);
    for (const ValueId v : node.outputs)
      if (v != ValueId::none) makers_.emplace(v, at);
  }
  const NodeId first = group.nodes[0];
  const ir::Node& node = g_.node(first);
  for (const NodeId n : group.nodes) note_measures(n);
  if (!group.program && node.regions.empty()) visit_kernel(first, at);
  if (node.is_loop()) visit_loop(first);
  const bool may_be_empty = node.is_loop() && may_stack_nothing(first);
  const Late before = may_be_empty ? late() : Late();
  for (const RegionId inner : regions(first)) visit(inner, at);
  if (may_be_empty) check_rules_of_empty(first, before);
  if (!node.regions.empty() && !node.is_loop()) visit_if(first);
  for (const NodeId n : group.nodes) {
    give_sizes(n);
    check_values(n);
    check_rule(n);
    for (const ValueId v : g_.node(n).outputs)
      if (v != ValueId::none) check_type(v);
  }
  for (const ValueId v : group.outputs)
    if (!node.is_loop()) check_extents(v);
  for (const NodeId n : group.view_nodes()) check_extents(g_.node(n).outputs[0]);
  for (const ValueId v : node.inputs)
    if (ops::reads_buffers(*node.op) && v != ValueId::none && type(v).is_tensor() &&
        type(v).has_rank() && !extents_known(v) && !begins_with_buffer(v))
      refuse(first,
             fmt::format("{} needs the extents of {}, which become known inside",
                         ir::where(g_, first), named(v)),
             "extents that are known before would do");
}

void RegionTree::visit_kernel(NodeId n, Position at) {
  const auto is_wrong = [&](ValueId v) {
    return v != ValueId::none && !has_native_elements(type(v));
  };
  const ir::Node& node = g_.node(n);
  if (std::ranges::any_of(node.outputs, is_wrong)) return;  // refused with the rest of its results
  if (const auto v = std::ranges::find_if(node.inputs, is_wrong); v != node.inputs.end()) {
    Refusal r = refusal_of(fmt::format("{} reads {}, which is", ir::where(g_, n), named(*v)),
                           type(*v));
    return refuse(n, std::move(r.why), std::move(r.help));
  }
  if (ops::calls_kernel(*node.op)) return kernels_.push_back({n, at, nullptr, {}});
  if (ops::meaning_as<ops::Composite>(*node.op) != nullptr)
    return refuse_itself(
        n, fmt::format("{} needs ranks or extents that the model does not tell", ir::where(g_, n)),
        "declared shapes would do");
  refuse_itself(n, fmt::format("{} makes values whose sizes data decide", ir::where(g_, n)),
                "a form of fixed size, such as a mask, would do");
}

void RegionTree::prepare_kernels() {
  for (KernelNode& k : kernels_) prepare(k);
}

void RegionTree::prepare(KernelNode& k) const {
  const ir::Node& node = g_.node(k.node);
  std::vector<ir::Type> inputs;
  std::vector<kernels::OperandForm> forms;
  const auto add = [&](ValueId v) {
    const ir::Type t = v == ValueId::none ? ir::Type() : type(v);
    if (v == ValueId::none) forms.push_back({.given = false});
    else forms.push_back({true, t.dtype(), static_cast<std::size_t>(t.rank())});
    k.on_parts = k.on_parts || (v != ValueId::none && !extents_known(v));
    return t;
  };
  for (const ValueId v : node.inputs) inputs.push_back(add(v));
  k.content = options_.fast_kernels ? "fast" : "reference";
  for (const ir::Type& t : inputs) k.content += " " + to_text(t);
  if (const auto* finding = ops::meaning_as<ops::FindingKernelMeaning>(*node.op)) {
    k.on_parts = true;
    for (const ValueId v : node.outputs) add(v);
    k.kernel = kernels::finding_extents(finding->reference(node, inputs), inputs.size(), forms);
    return;
  }
  k.kernel = ops::meaning_as<ops::SizedKernelMeaning>(*node.op)->prepare(node, inputs,
                                                                         options_.fast_kernels);
  for (std::size_t i = inputs.size(); i < k.kernel->inputs(); ++i) add(ValueId::none);
  for (std::size_t j = 0; j < k.kernel->outputs(); ++j)
    add(j < node.outputs.size() ? node.outputs[j] : ValueId::none);
  if (!k.on_parts) return;
  k.content += " on parts";
  k.kernel = kernels::on_parts(std::move(k.kernel), std::move(forms));
}

// Sizes that the program is given.

/// Not in an `if` at the top: nothing in it runs again, and its loops run as wholes anyway.
bool RegionTree::can_give_sizes() const { return g_.node(top_).is_loop(); }

/// A new size; unknown if none can be given.
ir::Extent RegionTree::given_size(bool exact) {
  if (!can_give_sizes()) return {};
  const ir::Symbol name = ir::Symbol::own(fmt::format("size{}", sizes_.size()));
  sizes_.push_back({name, exact});
  memory_names_.insert(name);
  bounds_.add_known(name);
  return ir::Extent(name);
}

std::optional<std::size_t> RegionTree::size_in(const ir::Extent& e) const {
  for (std::size_t k = sizes_.size(); k-- > 0;)
    if (e.symbolic() && e.symbol.has_name(sizes_[k].name)) return k;
  return std::nullopt;
}

/// Gives sizes to the extents of a node's results that only its program can find: not to those that
/// it has from its inputs.
void RegionTree::give_sizes(NodeId n) {
  if (!ops::finds_extents(*g_.node(n).op)) return;
  const auto is_given = [&](ir::Symbol name) {
    return std::ranges::any_of(g_.node(n).inputs, [&](ValueId v) {
      return v != ValueId::none && type(v).is_tensor() && type(v).has_rank() &&
             std::ranges::any_of(type(v).extents(), [&](const ir::Extent& e) {
               return e.symbolic() && e.symbol.has_name(name);
             });
    });
  };
  for (const ValueId v : g_.node(n).outputs) {
    if (v == ValueId::none || !type(v).is_tensor() || !type(v).has_rank()) continue;
    for (const ir::Extent& e : type(v).extents()) {
      if (!e.symbolic() || !e.symbol.is_name() || is_found(e.symbol) ||
          k_.measures.contains(e.symbol) || is_given(e.symbol))
        continue;
      const ir::Extent size = given_size();
      if (!size.known_or_symbolic()) return;
      bounds_.add(e.symbol, size);
      finding_.insert(n);
    }
  }
}

/// Gives sizes to the extents of the top loop's items that become known inside. All items of a
/// stack have the same extents, or the loop fails; the caller lays out the stack before it runs.
void RegionTree::visit_items() {
  const LoopParts parts(g_.node(top_));
  for (std::size_t k = 0; k < parts.stacks; ++k) {
    const ValueId v = g_.region(parts.body).results[1 + parts.states + k];
    const ir::Type& item = type(v);
    if (!item.is_tensor() || !item.has_rank() || extents_known(v)) continue;
    check_extents(v);
    ir::Extents extents = item.extents();
    for (ir::Extent& e : extents)
      if (!extent_known(e)) e = given_size(true);
    item_types_[k] = ir::Type::tensor(item.dtype(), std::move(extents));
  }
}

ir::Type RegionTree::item_type(std::size_t stack) const {
  const LoopParts parts(g_.node(top_));
  const auto at = item_types_.find(stack);
  return at != item_types_.end() ? at->second
                                 : type(g_.region(parts.body).results[1 + parts.states + stack]);
}

// Names that the program finds when it runs.

/// Notes bounds of the names in the types and conditions of a node, as far as they have some.
void RegionTree::note_measures(NodeId n) {
  const ir::Node& node = g_.node(n);
  if (node.is_loop()) {
    const ValueId index = g_.region(node.regions[0]).params[0];
    const ir::Integer trip = k_.integer(index);
    const ir::Extent most = n == top_ ? ir::Extent(ir::most_trips_of(node, k_)) : most_trips(n);
    if (trip.symbolic() && most.known_or_symbolic()) bounds_.add(trip.symbol, most);
  }
  for (const ir::Symbol name : measures(n)) note_measures(ir::Integer(name));
}

void RegionTree::note_measures(RegionId r) {
  for (const NodeId n : g_.region(r).nodes) {
    note_measures(n);
    for (const RegionId inner : regions(n)) note_measures(inner);
  }
}

void RegionTree::note_measures(const ir::Integer& i) {
  for (const ir::Symbol name : names_in(i)) {
    const auto how = k_.measures.find(name);
    if (how == k_.measures.end() || bounds_.contains(name)) continue;
    note_measures(how->second.most());
    const ir::Extent most = bounds_.most(ir::Extent(how->second.most()));
    if (most.known_or_symbolic()) bounds_.add(name, most);
  }
}

std::vector<ir::Symbol> RegionTree::measures(NodeId n) const {
  std::set<ir::Symbol> found;
  const auto add = [&](const ir::Integer& i) {
    for (const ir::Symbol name : names_in(i))
      if (k_.measures.contains(name)) found.insert(name);
  };
  for (const ValueId v : g_.node(n).outputs)
    if (v != ValueId::none && type(v).is_tensor() && type(v).has_rank())
      for (const ir::Extent& e : type(v).extents()) add(e);
  if (const auto at = k_.node_conditions.find(static_cast<std::int32_t>(n));
      at != k_.node_conditions.end() && at->second)
    for (const ir::Integer& i : *at->second) add(i);
  return {found.begin(), found.end()};
}

void RegionTree::visit_loop(NodeId n) {
  const ir::Node& node = g_.node(n);
  const LoopParts parts(node);
  const ir::Region& body = g_.region(parts.body);
  for (std::size_t s = 0; s < parts.states; ++s) visit_state(n, parts, s);
  const bool may_be_empty = n != top_ && may_stack_nothing(n);
  const std::vector<ir::Type> empty = may_be_empty ? items_without_trips(g_, n, k_, evaluator())
                                                   : std::vector<ir::Type>();
  for (std::size_t k = 0; k < parts.stacks; ++k)
    visit_stack(n, parts, k, may_be_empty ? &empty[k] : nullptr);
  check_element(body.results[0], "the body's condition");
  if (n == top_) return;  // the runtime checks the top node's inputs
  if (parts.has_trips) check_element(node.inputs[parts.trips_at()], "the trip count");
  if (parts.has_go) check_element(node.inputs[parts.go_at()], "the condition");
  for (std::size_t k = 0; k < parts.stacks; ++k)
    if (parts.has_extent(k)) check_element(node.inputs[parts.extent_at(k)], "a stack's extent");
}

void RegionTree::visit_state(NodeId n, const LoopParts& parts, std::size_t s) {
  const ValueId state = g_.region(parts.body).params[2 + s];
  const ValueId initial = g_.node(n).inputs[parts.states_at() + s];
  const ValueId following = g_.region(parts.body).results[1 + s];
  const ir::Type &t = type(state), &first = type(initial), &next = type(following);
  const auto keeps_rank = [&](const ir::Type& o) {
    return o.is_tensor() && o.has_rank() && o.dtype() == t.dtype() && o.rank() == t.rank();
  };
  if (!is_native(t) && !is_native(first)) return;  // refused where the body reads it
  if (!is_native(t) || !keeps_rank(first) || !keeps_rank(next))
    return refuse(state,
                  fmt::format("state {} begins as {} and becomes {}", named(state),
                              shown_type(initial), shown_type(following)),
                  "keep its rank");
  for (std::int64_t a = 0; a < t.rank(); ++a)
    if ((!(t.extent(a) == first.extent(a)) || !(t.extent(a) == next.extent(a))) &&
        !visit_changing_extent(n, parts, s, a))
      return refuse(state,
                    fmt::format("nothing bounds how state {} grows along axis {}", named(state), a),
                    "append as much in each trip, or keep its shape");
  check_extents(state);
}

/// Notes an extent that differs from trip to trip. Returns false if the first one has no bound.
bool RegionTree::visit_changing_extent(NodeId n, const LoopParts& parts, std::size_t s,
                                       std::int64_t axis) {
  const ir::Node& node = g_.node(n);
  const ir::Region& body = g_.region(parts.body);
  const ir::Extent now = type(body.params[2 + s]).extent(axis);
  const ir::Extent first = type(node.inputs[parts.states_at() + s]).extent(axis);
  const ir::Extent next = type(body.results[1 + s]).extent(axis);
  if (!now.symbolic() || !now.symbol.is_name() || class_names_.contains(now.symbol)) return false;
  auto& all = changing_[n];
  auto at = std::ranges::find(all, now.symbol, &ChangingExtent::now);
  if (at == all.end()) {
    const std::vector<ir::Extent> each = alternatives(next);
    ir::Extent bound = bound_of_states(n, now.symbol, first, each);
    // Of a loop that may end early, or for rows of a given size, far less than the bound may do.
    const bool early = n != top_ && !trip_count_known(n);
    if (!bound.known_or_symbolic() || size_in(bound) || early)
      if (const ir::Extent size = given_size(); size.symbolic())
        bound = ir::Extent(ir::max(ir::Integer(bounds_.most(first)), ir::Integer(size)));
    if (!bound.known_or_symbolic()) return false;
    for (const ir::Extent& e : each) bounds_.add_state(now.symbol, e, bound);
    all.push_back({now.symbol, first, next, bound, {}});
    at = all.end() - 1;
  }
  at->axes.emplace_back(s, axis);
  if (const ValueId final = node.outputs[s]; final != ValueId::none && n != top_)
    if (const ir::Extent& last = type(final).extent(axis); !bounds_.most(last).known_or_symbolic())
      bounds_.add(last.symbol, at->most);
  return true;
}

/// Extents of which `e` is at most one: those in the branches of an `if`; what bounds a position.
std::vector<ir::Extent> RegionTree::alternatives(const ir::Extent& e) const {
  const auto at = k_.either.find(e.symbol);
  if (!e.symbolic()) return {e};
  if (at == k_.either.end()) return {ir::Extent(k_.without_measures(e))};
  std::vector<ir::Extent> all = alternatives(at->second.first);
  for (const ir::Extent& other : alternatives(at->second.second)) all.push_back(other);
  return all;
}

/// An upper bound of an extent of states in all trips and after them: it never exceeds its first
/// value, or grows by a limited number in each trip, or is bounded by itself. `next`: what it may
/// be after a trip.
ir::Extent RegionTree::bound_of_states(NodeId loop, ir::Symbol now, const ir::Extent& first,
                                       std::span<const ir::Extent> next) const {
  const ir::Integer trips = loop == top_ ? ir::Integer(trips_with_room())
                                         : ir::Integer(most_trips(loop));
  const ir::Integer begin = bounds_.most(first);
  ir::Integer most = begin, growth = 0;
  for (const ir::Extent& e : next) {
    if ((ir::Integer(now) - e).at_least(0)) continue;
    if (!e.symbolic() || !e.symbol.has_name(now)) most = ir::max(most, bounds_.most(e));
    else if (bounds_.is_kept(e, now)) most = ir::max(most, 1);
    else growth = ir::max(growth, bounds_.most_growth(e, now));
  }
  // A growth that is computed is less in some trips than in others: far less than the bound may do.
  if (can_give_sizes() && growth.symbolic() && !growth.symbol.is_name()) return {};
  return ir::Extent(most + growth * trips);
}

/// Whether a loop has stacks and may make no trip.
bool RegionTree::may_stack_nothing(NodeId n) const {
  const ir::Node& node = g_.node(n);
  return LoopParts(node).stacks > 0 && !ir::Integer(ir::trips_of(node, k_)).at_least(1);
}

/// `without_trips`: the type of the item if the loop makes no trip; null if it certainly makes one.
void RegionTree::visit_stack(NodeId n, const LoopParts& parts, std::size_t k,
                             const ir::Type* without_trips) {
  const ir::Node& node = g_.node(n);
  const ValueId item = g_.region(parts.body).results[1 + parts.states + k];
  const ValueId stack = node.outputs[parts.states + k];
  check_type(item);
  if (!type(item).is_tensor() || !type(item).has_rank()) return;
  if (stack != ValueId::none) check_type(stack);
  if (extents_known(item)) check_extents(item);
  else if (n != top_)
    refuse(item,
           fmt::format("item {} is {}, not the same in each trip", named(item), shown_type(item)),
           "stack items of one shape");
  if (n == top_ || stack == ValueId::none || !type(stack).has_rank()) return;
  if (without_trips != nullptr && !empty_stack_known(n, k, *without_trips))
    refuse(n,
           fmt::format("{} may make no trip, and output {} may then have another shape",
                       ir::where(g_, n), named(stack)),
           "declare the shape of its items");
  const ir::Extent trips = most_trips(n);
  const std::int64_t axis = parts.axis_out[k] + (parts.axis_out[k] < 0 ? type(stack).rank() : 0);
  const ir::Extent& extent = type(stack).extent(axis);
  const bool bounded = bounds_.most(extent).known_or_symbolic();
  if (extent_known(extent) || bounded) {
    if (!trip_count_known(n) && parts.has_extent(k) && parts.reverse_out[k] != 0)
      refuse(stack, fmt::format(
                        "output {} is stacked backwards, has a length, and its loop may end before",
                        named(stack)));
    return check_size(stack);
  }
  ir::Extent bound = trips;
  if (!bound.known_or_symbolic() || !trip_count_known(n))
    if (const ir::Extent size = given_size(); size.symbolic()) bound = size;
  if (parts.has_extent(k) || !bound.known_or_symbolic())
    return refuse(
        n,
        fmt::format("nothing bounds the length of output {} of {}", named(stack), ir::where(g_, n)),
        "give M besides the condition");
  bounds_.add(extent.symbol, bound);
  check_size(stack);
}

void RegionTree::visit_top_if() {
  visit_if(top_);
  std::size_t nodes = 0;
  for (const auto& [r, region] : regions_)
    for (const Group& group : region.groups) nodes += group.nodes.size() - group.views;
  if (nodes > most_nodes_of_if)
    refuse_all(fmt::format("it has more than {} nodes", most_nodes_of_if));
}

void RegionTree::visit_if(NodeId n) {
  const ir::Node& node = g_.node(n);
  if (n != top_) check_element(node.inputs[0], "the condition");
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    if (node.outputs[j] == ValueId::none) continue;
    if (!visit_result(n, j))
      return refuse(
          n,
          fmt::format("the branches of {} give output {} as {} and {}", ir::where(g_, n),
                      named(node.outputs[j]), shown_type(g_.region(node.regions[0]).results[j]),
                      shown_type(g_.region(node.regions[1]).results[j])),
          "give both one rank, and extents with bounds");
    check_extents(node.outputs[j]);
  }
}

/// Whether a result of an `if` has extents that are known after it, or are one of two that are
/// known in its branches.
bool RegionTree::visit_result(NodeId n, std::size_t j) {
  const ir::Type& out = type(g_.node(n).outputs[j]);
  for (const RegionId r : regions(n)) {
    const ir::Type& t = type(g_.region(r).results[j]);
    if (t == out) continue;
    if (n == top_ || !t.is_tensor() || !out.is_tensor() || t.dtype() != out.dtype() ||
        !t.has_rank() || !out.has_rank() || t.rank() != out.rank())
      return false;
    for (std::int64_t a = 0; a < out.rank(); ++a) {
      if (t.extent(a) == out.extent(a)) continue;
      const auto pair = k_.either.find(out.extent(a).symbol);
      if (!out.extent(a).symbolic() || pair == k_.either.end()) return false;
      const ir::Extent bound(ir::max(ir::Integer(bounds_.most(pair->second.first)),
                                     ir::Integer(bounds_.most(pair->second.second))));
      if (!bound.known_or_symbolic()) return false;
      bounds_.add(out.extent(a).symbol, bound);
    }
  }
  return true;
}

/// Whether the node needs its input v in memory: not if it reads only the extents of what a program
/// makes element by element.
bool RegionTree::needs_elements(const ir::Node& node, ValueId v) const {
  const std::optional<Position> made = maker(v);
  if (!node.op->reads_extents_only || !made) return true;
  const Group& group = groups(made->region)[made->index];
  return !group.program || ops::writes_buffers(*g_.node(group.nodes[0]).op);
}

void RegionTree::read(ValueId v, Position at, NodeId node, std::size_t number) {
  reads_[v].push_back({at, node, number});
  const Tensor* t = g_.constant(v);
  if (t == nullptr || is_small_constant(g_, v) || std::ranges::count(constants_, v) > 0) return;
  constants_.push_back(v);
  k_.types[ir::index(v)] = ir::Type::tensor(t->dtype(), t->shape());
  check_type(v);
}

}  // namespace rondel::lowering
