#include "lowering/lower_region.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "ir/name_of.h"
#include "ir/value_text.h"
#include "lowering/extent_expression.h"
#include "lowering/extract.h"
#include "lowering/rule_text.h"

#include <algorithm>
#include <limits>
#include <set>

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

RegionLowering::RegionLowering(const RegionTree& tree, const StoragePlan& plan, scalar::Builder& b)
    : tree_(tree), plan_(plan), b_(b), environment_(tree.environment()),
      scope_{tree.graph(), environment_, tree.class_names(), b, {}, {}},
      buffers_(plan.all().size(), -1) {
  for (StorageId id = 0; id < plan.all().size(); ++id)
    if (!plan.all()[id].given) beginning_.emplace(plan.all()[id].lifetime.first, id);
}

// Regions and groups.

void RegionLowering::groups(RegionId r, const LoopContext* around, Ex t) {
  const std::vector<Group>& groups = tree_.groups(r);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    check_cancellation();
    // In a trip, the lifetimes of its first position have begun with the elements of scans.
    if (around == nullptr || i > 0) begin_lifetimes({r, i});
    group(groups[i], around, t);
  }
  for (const ValueId v : tree_.graph().region(r).results) define_constant(v);
}

void RegionLowering::begin_lifetimes(Position at) {
  const auto [first, end] = beginning_.equal_range(tree_.begins(at));
  for (auto it = first; it != end; ++it) b_.fresh(buffer(it->second));
}

/// `around`: the loop whose body contains the group directly; null if there is none.
void RegionLowering::group(const Group& g, const LoopContext* around, Ex t) {
  for (const NodeId n : g.nodes)
    for (const ValueId v : tree_.graph().node(n).inputs) define_constant(v);
  const ir::Node& node = tree_.graph().node(g.nodes[0]);
  if (!node.regions.empty() && !node.is_loop()) return branch(g.nodes[0]);
  for (const NodeId n : g.nodes)
    for (const ir::Symbol name : tree_.measures(n)) measure(name);
  for (const NodeId n : g.nodes) find_extents(n);
  if (node.is_loop()) return loop(g.nodes[0]);
  for (const NodeId n : g.nodes) check_rule(n);
  const NestScope nest(scope_.notes, [&] {
    return scope_.notes->nest(std::span(g.nodes).first(g.nodes.size() - g.inlined),
                              environment_.types);
  });
  if (scope_.notes != nullptr) note_group(g, around);
  const bool whole = ops::writes_buffers(*node.op);
  if (whole)
    for (const NodeId n : std::span(g.nodes).subspan(1)) define_beginning(n);
  const auto nodes = std::span(g.nodes).first(g.nodes.size() - g.inlined);
  if (g.inlined > 0)
    define_inlined(scope_, node.inputs[0], std::span(g.nodes).last(g.inlined),
                   extents_of(node.inputs[0]));
  for (const ValueId v : g.outputs)
    if (!tree_.kernel_finds_extents(g.nodes[0]))
      scope_.sinks.insert_or_assign(v, sink_for(v, whole ? nullptr : around, t, !whole));
  if (whole) on_buffers(g);
  else if (g.by_rows) by_rows(tree_.rows(g));
  else lower_nodes(scope_, nodes);
}

void RegionLowering::by_rows(const RowSchedule& rows) {
  std::vector<Ex> space;
  for (const ir::Extent& e : rows.space) space.push_back(extent(e));
  lower_rows(scope_, rows, space);
}

/// Emits the computation of a name that is found when the program runs, if that has not been done.
void RegionLowering::measure(ir::Symbol name) {
  const auto how = environment_.measures.find(name);
  if (how == environment_.measures.end() || extents_.contains(name)) return;
  const ir::Measure& m = how->second;
  for (const ir::Symbol other : names_in(m.most())) measure(other);
  if (m.list == ValueId::none) {
    extents_[name] = integer(m.expression);
    return;
  }
  define_constant(m.list);
  const Operand& list = scope_.operands.at(m.list);
  const Indices at(list.extents.size(), b_.index(static_cast<std::int64_t>(m.element)));
  const Ex given = cast(DType::i64, list.load(at)), axis = extent(m.axis);
  const Ex counted = select(given < 0, given + axis, given);
  extents_[name] = scalar::max(b_.index(0), scalar::min(counted, axis));
}

/// Emits the computation of extents that the node's program finds from values.
void RegionLowering::find_extents(NodeId n) {
  if (!tree_.finds_extents(n) || tree_.kernel_finds_extents(n)) return;
  const ir::Node& node = tree_.graph().node(n);
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    if (node.outputs[j] == ValueId::none) continue;
    const std::vector<Ex> found = found_extents(scope_, n, j);
    for (std::size_t a = 0; a < found.size(); ++a)
      if (const ir::Extent& e = type(node.outputs[j]).extents()[a];
          e.symbolic() && !extents_.contains(e.symbol))
        extents_[e.symbol] = found[a];
  }
}

// Sizes that the program is given.

/// Emits the checks that a value of these extents fits into a storage, where only sizes that the
/// program is given say so.
void RegionLowering::check_room(std::span<const Ex> extents, StorageId to) {
  const ir::Type& room = plan_.all()[to].type;
  for (std::int64_t a = 0; a < room.rank(); ++a)
    if (const auto size = tree_.size_in(room.extent(a))) {
      const Ex needed = extents[static_cast<std::size_t>(a)];
      b_.check_size(needed <= b_.extent(buffer(to), a), static_cast<std::int32_t>(*size), needed);
    }
}

/// Emits the checks that an item of the top loop has the extents that its stack is laid out for.
void RegionLowering::check_item(std::size_t stack, ValueId item) {
  const ir::Type laid_out = tree_.item_type(stack);
  for (std::int64_t a = 0; a < laid_out.rank(); ++a) {
    const auto size = tree_.size_in(laid_out.extent(a));
    if (!size || type(item).extent(a) == laid_out.extent(a)) continue;
    const Ex found = extent(type(item).extent(a));
    b_.check_size(found == extent(laid_out.extent(a)), static_cast<std::int32_t>(*size), found);
  }
}

/// Emits the check that a node's rule accepts the extents that have become known by now.
void RegionLowering::check_rule(NodeId n) {
  const ir::Integers& conditions = tree_.conditions_inside(n);
  if (conditions.empty()) return;
  const RuleText told = rule_text(tree_.graph(), n, environment_, conditions);
  std::vector<Ex> shown;
  for (const ir::Extent& e : told.shown) shown.push_back(extent(e));
  b_.enter(ir::where(tree_.graph(), n));
  for (const ir::Integer& condition : conditions)
    b_.check(integer(condition) >= 0, told.text, shown);
  b_.leave();
}

/// Defines the result of a node that is read where the node's input lies.
void RegionLowering::define_beginning(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  Operand beginning = scope_.operands.at(node.inputs[0]);
  beginning.part.whole = false;
  beginning.extents = extents_of(node.outputs[0]);
  define(node.outputs[0], std::move(beginning));
}

/// A loop nest or a kernel stores to buffers only, and may read whole buffers: operands in
/// registers are stored to local buffers before, and results of one element are loaded afterwards.
void RegionLowering::on_buffers(const Group& g) {
  const ir::Node& node = tree_.graph().node(g.nodes[0]);
  std::map<ValueId, Operand> replaced;
  if (ops::reads_buffers(*node.op)) {
    for (const ValueId v : node.inputs) {
      if (v == ValueId::none || scope_.operands.at(v).part.buffer >= 0) continue;
      invariant(tree_.is_one_element(v), "'{}' is in no buffer", tree_.graph().value(v).name);
      const std::int32_t array = b_.local("element", type(v).dtype(), type(v).static_shape());
      b_.store(array, zeros(v), element(v));
      replaced.emplace(v, scope_.operands.at(v));
      define(v, whole_buffer(b_, array));
    }
  }
  if (g.program) lower_nodes(scope_, g.nodes);
  else call(g.nodes[0]);
  for (auto& [v, before] : replaced) define(v, std::move(before));
  for (const ValueId v : g.outputs)
    if (tree_.is_one_element(v)) define(v, in_register(v, element(v)));
}

/// Emits the call of a kernel on parts of buffers, and defines results whose extents it finds.
void RegionLowering::call(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const RegionTree::KernelNode& prepared = *std::ranges::find(tree_.kernels(), n,
                                                              &RegionTree::KernelNode::node);
  const auto& kernel = prepared.kernel;
  scalar::Call call;
  call.name = std::string(node.op->name);
  for (const auto& [key, value] : node.attributes)
    call.name += " " + key + "=" + ir::to_text(value);
  call.function = kernels::SizedKernel::call;
  call.attributes = kernel;
  if (ir::text_identifies(node.attributes)) call.content = prepared.content;
  std::vector<Ex> leading;
  const auto add = [&](const std::vector<ValueId>& values, std::size_t count, const auto& part_of) {
    for (std::size_t k = 0; k < count; ++k) {
      const bool given = k < values.size() && values[k] != ValueId::none;
      const ops::BufferPart part = given ? part_of(values[k]) : ops::BufferPart();
      call.views.push_back({part.buffer, static_cast<std::int32_t>(part.leading.size())});
      leading.insert(leading.end(), part.leading.begin(), part.leading.end());
    }
  };
  const bool finds = tree_.kernel_finds_extents(n);
  call.first_written = kernel->inputs();
  add(node.inputs, kernel->inputs() - (prepared.on_parts ? 1 : 0),
      [&](ValueId v) { return scope_.operands.at(v).part; });
  if (prepared.on_parts) call.views.push_back({told_extents(n)});
  add(node.outputs, kernel->outputs() - (finds ? 1 : 0),
      [&](ValueId v) { return ops::BufferPart{buffer(*plan_.storage_of(v))}; });
  std::int64_t ranks = 0;
  for (const ValueId v : node.outputs) ranks += v == ValueId::none ? 0 : type(v).rank();
  const std::int32_t found = finds ? b_.local("found", DType::i64, {ranks}) : -1;
  if (finds) call.views.push_back({found});
  call.views.push_back({workspaces_.at(n)});
  b_.enter(ir::where(tree_.graph(), n));
  b_.call(std::move(call), leading, kernel->failures());
  b_.leave();
  if (finds) define_found(n, found);
}

/// Emits the list of extents that a kernel on parts of buffers is told: of the inputs and, unless
/// it finds them, of the outputs.
std::int32_t RegionLowering::told_extents(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  std::vector<Ex> told;
  const auto add = [&](const std::vector<ValueId>& values) {
    for (const ValueId v : values) {
      if (v == ValueId::none) continue;
      const std::vector<Ex> extents = extents_of(v);
      told.insert(told.end(), extents.begin(), extents.end());
    }
  };
  add(node.inputs);
  if (!tree_.kernel_finds_extents(n)) add(node.outputs);
  const std::int32_t list = b_.local("extents", DType::i64, {std::ssize(told)});
  for (std::size_t k = 0; k < told.size(); ++k)
    b_.store(list, {b_.index(static_cast<std::int64_t>(k))}, told[k]);
  return list;
}

/// Defines the results of a kernel that has found their extents, after the check that there was
/// room for them.
void RegionLowering::define_found(NodeId n, std::int32_t extents) {
  std::int64_t next = 0;
  for (const ValueId v : tree_.graph().node(n).outputs) {
    if (v == ValueId::none) continue;
    for (const ir::Extent& e : type(v).extents()) {
      const Ex found = b_.load(extents, {b_.index(next++)});
      if (e.symbolic() && !extents_.contains(e.symbol)) extents_[e.symbol] = found;
    }
    const StorageId to = *plan_.storage_of(v);
    check_room(extents_of(v), to);
    define(v, in_buffer(v, buffer(to)));
  }
}

/// The sink of a value that a group computes: a register, or its storage and the stacks that it is
/// an item of.
Sink RegionLowering::sink_for(ValueId v, const LoopContext* around, Ex t, bool in_registers) {
  Sink sink;
  sink.extents = extents_of(v);
  if (tree_.is_one_element(v) && in_registers) {
    sink.stores.push_back([this, v](const Indices&, Ex x) { define(v, in_register(v, x)); });
    return sink;
  }
  if (const auto storage = plan_.storage_of(v)) {
    const std::int32_t to = buffer(*storage);
    check_room(sink.extents, *storage);
    sink.part = {to, {}, tree_.extents_known(v)};
    if (!is_there(v, *storage))
      sink.stores.push_back([this, to](const Indices& i, Ex x) { b_.store(to, i, x); });
    define(v, in_buffer(v, to));
  } else {
    define(v, without_elements(v));
  }
  if (around == nullptr) return sink;
  for (std::size_t k = 0; k < around->parts.stacks; ++k) {
    if (tree_.graph().region(around->parts.body).results[1 + around->parts.states + k] != v)
      continue;
    if (around->node == tree_.top()) check_item(k, v);
    sink.stores.push_back(
        [this, around, k, t](const Indices& i, Ex x) { store_item(*around, k, i, t, x); });
  }
  return sink;
}

/// Whether the storage holds the elements already, since it holds what v is the beginning of.
bool RegionLowering::is_there(ValueId v, StorageId storage) const {
  const Position made = *tree_.maker(v);
  const ValueId whole = tree_.beginning_in(tree_.groups(made.region)[made.index]);
  return whole != ValueId::none && plan_.storage_of(whole) == storage;
}

void RegionLowering::branch(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const auto in_memory = [&](std::size_t j) {
    return plan_.storage_of(node.outputs[j]).has_value();
  };
  const auto in_registers = [&](std::size_t j) {
    return node.outputs[j] != ValueId::none && tree_.is_one_element(node.outputs[j]);
  };
  const std::vector<std::pair<std::size_t, std::int64_t>> either = extents_of_either(n);
  const std::vector<RegionId> regions = tree_.regions(n);
  if (regions.size() > 1)  // a name that both branches measure is known after them, too
    for (const ir::Symbol name : tree_.measures(n)) measure(name);
  const auto take = [&](RegionId r) {
    const NestScope branch(scope_.notes, [&] { return r == node.regions[0] ? "then" : "else"; });
    const auto outer = extents_;
    groups(r, nullptr, {});
    const auto& results = tree_.graph().region(r).results;
    std::vector<Ex> yields;
    Moves moves;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      if (in_registers(j)) yields.push_back(element(results[j]));
      else if (node.outputs[j] != ValueId::none && in_memory(j) &&
               plan_.storage_of(results[j]) != plan_.storage_of(node.outputs[j]))
        moves.emplace_back(results[j], *plan_.storage_of(node.outputs[j]));
    }
    begin_lifetimes({r, tree_.groups(r).size()});
    move(moves, r);
    for (const auto& [j, axis] : either) yields.push_back(extent(type(results[j]).extent(axis)));
    if (regions.size() > 1) extents_ = outer;  // what was found in a branch is known there only
    return yields;
  };
  const auto choose = [&] {
    return b_.if_(
        element(node.inputs[0]), [&] { return take(regions[0]); },
        [&] { return take(regions[1]); });
  };
  NestScope nest(scope_.notes, [&] { return scope_.notes->name(n); });
  if (regions.size() == 1)
    nest.note([] { return "one branch only, because the shapes decide the condition"; });
  const std::vector<Ex> merged = regions.size() == 1 ? take(regions[0]) : choose();
  for (std::size_t k = 0; k < either.size(); ++k)
    extents_[type(node.outputs[either[k].first]).extent(either[k].second).symbol] =
        merged[merged.size() - either.size() + k];
  std::size_t next = 0;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    const ValueId v = node.outputs[j];
    if (in_registers(j)) define(v, in_register(v, merged[next++]));
    else if (v != ValueId::none && in_memory(j))
      define(v, in_buffer(v, buffer(*plan_.storage_of(v))));
  }
}

/// The outputs of an `if` and their axes whose extents are not the same in both branches, one for
/// each name.
std::vector<std::pair<std::size_t, std::int64_t>> RegionLowering::extents_of_either(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  const std::vector<RegionId> regions = tree_.regions(n);
  std::vector<std::pair<std::size_t, std::int64_t>> found;
  std::set<ir::Symbol> named;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    if (node.outputs[j] == ValueId::none) continue;
    const ir::Type& out = type(node.outputs[j]);
    for (std::int64_t a = 0; a < out.rank(); ++a) {
      const bool same = std::ranges::all_of(regions, [&](RegionId r) {
        return type(tree_.graph().region(r).results[j]).extent(a) == out.extent(a);
      });
      if (!same && named.insert(out.extent(a).symbol).second) found.emplace_back(j, a);
    }
  }
  return found;
}

// One trip of a loop.

std::vector<Ex> RegionLowering::trip(const LoopContext& l, Ex t, std::span<const Ex> carried) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  const auto outer = extents_;
  b_.enter(ir::where(tree_.graph(), l.node), t);
  if (!l.trips)
    for (const StackBuffer& stack : l.stacks) check_rows(stack, t + 1);
  begin_lifetimes({l.parts.body, 0});
  define_params(l, t, carried);
  groups(l.parts.body, &l, t);
  store_items(l, t);
  std::vector<Ex> next{element(body.results[0])};
  next.push_back(next[0]);
  for (std::size_t s = 0; s < l.parts.states; ++s)
    if (tree_.is_one_element(body.params[2 + s])) next.push_back(element(body.results[1 + s]));
  for (const auto& changing : tree_.changing_extents(l.node)) next.push_back(extent(changing.next));
  if (const std::size_t end = tree_.groups(l.parts.body).size(); end > 0)
    begin_lifetimes({l.parts.body, end});
  move_states(l);
  b_.leave();
  extents_ = outer;  // what was found in the trip is known there only
  return next;
}

void RegionLowering::define_params(const LoopContext& l, Ex t, std::span<const Ex> carried) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  define(body.params[0], in_register(body.params[0], t));
  if (const ir::Integer index = environment_.integer(body.params[0]); index.symbolic())
    extents_[index.symbol] = t;
  define(body.params[1], in_register(body.params[1], carried[0]));
  const auto& changing = tree_.changing_extents(l.node);
  for (std::size_t k = 0; k < changing.size(); ++k)
    extents_[changing[k].now] = carried[1 + states_in_registers(l) + k];
  std::size_t next = 1;
  for (std::size_t s = 0; s < l.parts.states; ++s) {
    const ValueId v = body.params[2 + s];
    define(v, tree_.is_one_element(v) ? in_register(v, carried[next++])
                                      : in_buffer(v, buffer(plan_.state(l.node, s))));
  }
  for (std::size_t s = 0; s < l.parts.scans; ++s) define_scan_element(l, s, t);
}

void RegionLowering::define_scan_element(const LoopContext& l, std::size_t s, Ex t) {
  const ValueId v = tree_.graph().region(l.parts.body).params[2 + l.parts.states + s];
  const Operand whole = scope_.operands.at(
      tree_.graph().node(l.node).inputs[l.parts.scans_at() + s]);
  const auto rank = static_cast<std::int64_t>(whole.extents.size());
  const std::int64_t axis = l.parts.axis_in[s] + (l.parts.axis_in[s] < 0 ? rank : 0);
  const Ex extent = whole.extents[static_cast<std::size_t>(axis)];
  const std::string has = "scan '" + tree_.graph().value(v).name + "' has extent {}: trip {}";
  if (l.parts.has_go) b_.check(t < extent, has + " reads past it", {extent, t});
  else if (l.parts.has_trips)
    b_.check(t < extent, has + " of a count of {} reads past it", {extent, t, l.trips});
  const Ex position = l.parts.reverse_in[s] != 0 ? extent - 1 - t : t;
  Operand element{[whole, axis, position](const Indices& i) {
                    Indices at = i;
                    at.insert(at.begin() + axis, position);
                    return whole.load(at);
                  },
                  {},
                  extents_of(v)};
  if (axis == 0 && whole.part.buffer >= 0) {
    element.part = whole.part;
    element.part.leading.push_back(position);
  }
  if (const auto block = plan_.copy(v)) {
    copy(element, *block, v);
    element = in_buffer(v, buffer(*block));
  }
  define(v, std::move(element));
}

void RegionLowering::store_items(const LoopContext& l, Ex t) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  for (std::size_t k = 0; k < l.parts.stacks; ++k) {
    const ValueId v = body.results[1 + l.parts.states + k];
    if (stored_by_maker(v, l.parts.body)) continue;
    if (l.node == tree_.top()) check_item(k, v);
    const Operand from = scope_.operands.at(v);
    const NestScope nest(scope_.notes, [&] {
      return fmt::format("copy {} to {}", ir::name_of(tree_.graph(), v), name_of_stack(l, k));
    });
    b_.for_all(extents_of(v), [&](const Indices& i) { store_item(l, k, i, t, from.load(i)); });
  }
}

/// Whether the group that computes a value also stores it to the stacks, as `sink_for` arranges.
bool RegionLowering::stored_by_maker(ValueId v, RegionId body) const {
  const auto made = tree_.maker(v);
  if (!made || made->region != body || tree_.is_one_element(v)) return false;
  const Group& g = tree_.groups(body)[made->index];
  return g.program && !ops::writes_buffers(*tree_.graph().node(g.nodes[0]).op);
}

void RegionLowering::store_item(const LoopContext& l, std::size_t k, const Indices& i, Ex t, Ex x) {
  const StackBuffer& stack = l.stacks[k];
  if (stack.buffer < 0) return;
  Indices at = i;
  at.insert(at.begin() + stack.axis, stack.reversed ? stack.rows - 1 - t : t);
  const auto put = [&] { b_.store(stack.buffer, at, x); };
  if (stack.limit) b_.if_(t < stack.limit, put);
  else put();
}

/// Copies next states that are not yet in the storage of their states.
void RegionLowering::move_states(const LoopContext& l) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  Moves moves;
  for (std::size_t s = 0; s < l.parts.states; ++s) {
    const ValueId next = body.results[1 + s], param = body.params[2 + s];
    const bool there = next == param || plan_.storage_of(next) == plan_.storage_of(param);
    if (!tree_.is_one_element(param) && !there) moves.emplace_back(next, plan_.state(l.node, s));
  }
  move(moves, l.parts.body);
}

/// Copies results of a region to other storages, all at once: those that lie where another one goes
/// are copied aside before.
void RegionLowering::move(const Moves& moves, RegionId r) {
  // A value from outside may have a copy too, but only while its own region moves it.
  const auto aside = [&](ValueId v) {
    const bool own = tree_.graph().value(v).region == r && plan_.storage_of(v);
    return own ? plan_.copy(v) : std::nullopt;
  };
  for (const auto& [v, _] : moves)
    if (const auto block = aside(v)) copy(scope_.operands.at(v), *block, v);
  for (const auto& [v, to] : moves) {
    const auto block = aside(v);
    copy(block ? in_buffer(v, buffer(*block)) : scope_.operands.at(v), to, v);
  }
}

// An inner loop.

void RegionLowering::loop(NodeId n) {
  const ir::Node& node = tree_.graph().node(n);
  LoopContext l(tree_.graph(), n);
  const Ex most = most_trips(l);
  if (tree_.trip_count_known(n)) l.trips = most;
  for (std::size_t k = 0; k < l.parts.stacks; ++k) l.stacks.push_back(begin_stack(l, k));
  begin_states(l);

  if (b_.known(most)) check_budget(l, budget_ < most);
  const std::vector<Ex> finals = run_loop(l, most);
  const Ex made = l.trips ? l.trips : finals.back();
  if (!b_.known(most))
    check_budget(l, l.trips ? budget_ < most : finals[0] & (made < most) & (budget_ <= made));
  const auto& changing = tree_.changing_extents(n);
  for (std::size_t k = 0; k < changing.size(); ++k)
    for (const auto& [s, axis] : changing[k].axes)
      if (const ValueId v = node.outputs[s]; v != ValueId::none)
        extents_[type(v).extent(axis).symbol] = finals[1 + states_in_registers(l) + k];
  std::size_t next = 1;
  for (std::size_t s = 0; s < l.parts.states; ++s) {
    const ValueId v = node.outputs[s], param = tree_.graph().region(l.parts.body).params[2 + s];
    const bool single = tree_.is_one_element(param);
    if (v != ValueId::none && single) define(v, in_register(v, finals[next]));
    else if (v != ValueId::none) define(v, in_buffer(v, buffer(plan_.state(n, s))));
    if (single) ++next;
  }
  for (std::size_t k = 0; k < l.parts.stacks; ++k) finish_stack(l, k, made);
  const ValueId count = node.outputs[l.parts.states + l.parts.stacks];
  if (count != ValueId::none) define(count, in_register(count, made));
}

/// The upper bound of the trip count that the loop's inputs give.
Ex RegionLowering::most_trips(const LoopContext& l) {
  const ir::Node& node = tree_.graph().node(l.node);
  if (l.parts.has_trips) return scalar::max(element(node.inputs[l.parts.trips_at()]), b_.index(0));
  Ex least;
  for (std::size_t s = 0; !l.parts.has_go && s < l.parts.scans; ++s) {
    const auto& extents = scope_.operands.at(node.inputs[l.parts.scans_at() + s]).extents;
    const auto rank = static_cast<std::int64_t>(extents.size());
    const std::int64_t axis = l.parts.axis_in[s] + (l.parts.axis_in[s] < 0 ? rank : 0);
    const Ex extent = extents[static_cast<std::size_t>(axis)];
    least = least ? scalar::min(least, extent) : extent;
  }
  return least ? least : b_.index(std::numeric_limits<std::int64_t>::max());
}

void RegionLowering::begin_states(const LoopContext& l) {
  const ir::Node& node = tree_.graph().node(l.node);
  for (std::size_t s = 0; s < l.parts.states; ++s) {
    const ValueId initial = node.inputs[l.parts.states_at() + s];
    if (tree_.is_one_element(tree_.graph().region(l.parts.body).params[2 + s])) continue;
    const StorageId to = plan_.state(l.node, s);
    if (plan_.storage_of(initial) != to) copy(scope_.operands.at(initial), to, initial);
  }
}

/// Emits the trips. Returns [go, final states in registers..., changing extents..., trips made].
std::vector<Ex> RegionLowering::run_loop(const LoopContext& l, Ex most) {
  const ir::Node& node = tree_.graph().node(l.node);
  std::vector<Ex> inits{l.parts.has_go ? element(node.inputs[l.parts.go_at()])
                                       : b_.constant_bits(DType::boolean, 1)};
  for (std::size_t s = 0; s < l.parts.states; ++s) {
    const ValueId initial = node.inputs[l.parts.states_at() + s];
    if (tree_.is_one_element(tree_.graph().region(l.parts.body).params[2 + s]))
      inits.push_back(element(initial));
  }
  for (const auto& changing : tree_.changing_extents(l.node))
    inits.push_back(extent(changing.first));
  const Ex hi = b_.known(most) ? most : scalar::min(most, budget_);
  if (by_elements(l)) {
    trips_by_elements(l, b_.index(0), hi, inits);
    inits.push_back(hi);
    return inits;
  }
  NestScope nest(scope_.notes, [&] { return trips_text(l); });
  if (scope_.notes != nullptr) note_trips_in_order(l, "another loop is around it");
  if (!l.parts.has_go) {
    std::vector<Ex> finals = b_.for_(b_.index(0), hi, inits, [&](Ex t, auto carried) {
      nest.body();
      std::vector<Ex> next = trip(l, t, carried);
      next.erase(next.begin());
      return next;
    });
    finals.push_back(hi);
    return finals;
  }
  // If `go` is false at first, no trip runs.
  const Ex end = scalar::select(inits[0], hi, b_.index(0));
  return b_.for_while(b_.index(0), end, inits, [&](Ex t, auto carried) {
    nest.body();
    return trip(l, t, carried);
  });
}

/// Emits the check that the budget of trips suffices: `over` is true if it does not. A constant
/// trip count is checked before the first trip, any other after the last one.
void RegionLowering::check_budget(const LoopContext& l, Ex over) {
  b_.enter(ir::where(tree_.graph(), l.node), budget_);
  b_.check(b_.unary(scalar::Op::bnot, over), "the budget of trips is used up", {}, Blame::limit);
  b_.leave();
}

StackBuffer RegionLowering::begin_stack(const LoopContext& l, std::size_t k) {
  const ir::Node& node = tree_.graph().node(l.node);
  const ValueId v = node.outputs[l.parts.states + k];
  StackBuffer stack;
  if (v == ValueId::none || !plan_.storage_of(v)) return stack;
  stack.buffer = buffer(*plan_.storage_of(v));
  stack.axis = l.parts.axis_out[k] + (l.parts.axis_out[k] < 0 ? type(v).rank() : 0);
  stack.reversed = l.parts.reverse_out[k] != 0;
  stack.size = tree_.size_in(plan_.all()[*plan_.storage_of(v)].type.extent(stack.axis));
  if (l.trips) check_rows(stack, scalar::min(l.trips, budget_));
  const Ex room = l.parts.has_extent(k) ? extent(type(v).extent(stack.axis))
                                        : b_.extent(stack.buffer, stack.axis);
  stack.rows = l.trips ? l.trips : room;
  if (!l.parts.has_extent(k)) return stack;
  if (l.trips) check_length(l, v, room, l.trips, "makes");
  else stack.limit = room;
  return stack;
}

/// Emits the check that a stack has room for so many rows, where only a given size says so.
void RegionLowering::check_rows(const StackBuffer& stack, Ex rows) {
  if (!stack.size) return;
  b_.check_size(rows <= b_.extent(stack.buffer, stack.axis), static_cast<std::int32_t>(*stack.size),
                rows);
}

void RegionLowering::check_length(const LoopContext& l, ValueId stack, Ex room, Ex trips,
                                  const char* makes) {
  b_.enter(ir::where(tree_.graph(), l.node));
  b_.check(trips <= room,
           fmt::format("the length of output '{}' is {{}}, but the loop {} {{}} trips",
                       tree_.graph().value(stack).name, makes),
           {room, trips});
  b_.leave();
}

/// Defines the stack as an operand: its whole buffer, or the part that was filled.
void RegionLowering::finish_stack(const LoopContext& l, std::size_t k, Ex made) {
  const ir::Node& node = tree_.graph().node(l.node);
  const ValueId v = node.outputs[l.parts.states + k];
  const StackBuffer& stack = l.stacks[k];
  if (stack.buffer < 0) return;
  const auto axis = static_cast<std::size_t>(stack.axis);
  const ir::Extent& extent = type(v).extent(stack.axis);
  if (extent.symbolic() && extent.symbol.is_name() && !extents_.contains(extent.symbol))
    extents_[extent.symbol] = made;
  std::vector<Ex> extents = extents_of(v);
  if (l.parts.has_extent(k)) {
    const Ex room = extents[axis];
    if (stack.limit) check_length(l, v, room, made, "made");
    const Ex zero = b_.constant_bits(type(v).dtype(), 0);
    std::vector<Ex> tail = extents;
    tail[axis] = room - made;
    b_.for_all(tail, [&](Indices i) {
      i[axis] = i[axis] + made;
      b_.store(stack.buffer, i, zero);
    });
  }
  // A reversed stack is filled from its end: the rows before the last item are unused.
  const Ex skipped = stack.reversed && !l.trips ? stack.rows - made : b_.index(0);
  Operand whole{[this, buffer = stack.buffer, axis, skipped](Indices i) {
                  i[axis] = i[axis] + skipped;
                  return b_.load(buffer, i);
                },
                {},
                std::move(extents)};
  if (tree_.begins_with_buffer(v)) whole.part = {stack.buffer, {}, tree_.extents_known(v)};
  define(v, std::move(whole));
}

// Small pieces.

std::size_t RegionLowering::states_in_registers(const LoopContext& l) const {
  const auto states =
      std::span(tree_.graph().region(l.parts.body).params).subspan(2, l.parts.states);
  return static_cast<std::size_t>(
      std::ranges::count_if(states, [&](ValueId v) { return tree_.is_one_element(v); }));
}

void RegionLowering::define(ValueId v, Operand operand) {
  scope_.operands.insert_or_assign(v, std::move(operand));
}

/// Embeds a small constant in the program.
void RegionLowering::define_constant(ValueId v) {
  if (v == ValueId::none || scope_.operands.contains(v)) return;
  const Tensor* t = tree_.graph().constant(v);
  if (t == nullptr || !is_small_constant(tree_.graph(), v)) return;
  environment_.types[ir::index(v)] = ir::Type::tensor(t->dtype(), t->shape());
  define(v, one_element(b_, constant_element(b_, *t), t->rank()));
}

Operand RegionLowering::in_register(ValueId v, Ex x) { return one_element(b_, x, type(v).rank()); }

Operand RegionLowering::in_buffer(ValueId v, std::int32_t buffer) {
  Operand operand{
      [this, buffer](const Indices& i) { return b_.load(buffer, i); }, {}, extents_of(v)};
  operand.part = {buffer, {}, tree_.extents_known(v)};
  return operand;
}

/// A value that is only an item, or of which only the extents are read.
Operand RegionLowering::without_elements(ValueId v) {
  return {[this, v](const Indices&) -> Ex {
            invariant(false, "'{}' has no memory", tree_.graph().value(v).name);
            return {};
          },
          {},
          extents_of(v)};
}

Indices RegionLowering::zeros(ValueId v) {
  return Indices(static_cast<std::size_t>(type(v).rank()), b_.index(0));
}

Ex RegionLowering::element(ValueId v) {
  const Operand& operand = scope_.operands.at(v);
  return operand.load(Indices(operand.extents.size(), b_.index(0)));
}

std::vector<Ex> RegionLowering::extents_of(ValueId v) {
  std::vector<Ex> extents;
  for (const ir::Extent& e : type(v).extents()) extents.push_back(extent(e));
  return extents;
}

Ex RegionLowering::extent(const ir::Extent& e) {
  if (const auto at = extents_.find(e.symbol); e.symbolic() && at != extents_.end())
    return at->second;
  return integer(e);
}

Ex RegionLowering::integer(const ir::Integer& i) {
  return extent_expression(b_, i, [&](ir::Symbol name) {
    const auto at = extents_.find(name);
    if (at == extents_.end())
      broken_invariant("the extent {} is not known yet in {}", name.text(), to_text(i));
    return at->second;
  });
}

/// `v`: what is copied.
void RegionLowering::copy(const Operand& from, StorageId to, ValueId v) {
  NestScope nest(scope_.notes, [&] {
    return fmt::format("copy {} to {}", ir::name_of(tree_.graph(), v),
                       name_of_storage(to, ValueId::none, nullptr));
  });
  nest.note([&] { return plan_.why_apart(v); });
  check_room(from.extents, to);
  b_.for_all(from.extents, [&](const Indices& i) { b_.store(buffer(to), i, from.load(i)); });
}

}  // namespace rondel::lowering
