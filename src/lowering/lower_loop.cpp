// Inner loops of a region, and the trips of any loop.
#include "ir/name_of.h"
#include "lowering/lower_region.h"

#include <algorithm>
#include <limits>

namespace rondel::lowering {

using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

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

  if (trips_are_constant(l)) check_budget(l, budget_ < most);
  const std::vector<Ex> finals = run_loop(l, most);
  const Ex made = l.trips ? l.trips : finals.back();
  if (!trips_are_constant(l)) {
    Ex over = l.trips ? budget_ < most : (made < most) & (budget_ <= made);
    if (l.parts.has_go) over = finals[0] & over;  // else the body's `go` decides nothing
    check_budget(l, over);
  }
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

/// Whether the loop certainly makes a constant number of trips: no condition ends it before.
bool RegionLowering::trips_are_constant(const LoopContext& l) const {
  return l.trips && b_.known(l.trips);
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
  const Ex hi = trips_are_constant(l) ? most : scalar::min(most, budget_);
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

std::size_t RegionLowering::states_in_registers(const LoopContext& l) const {
  const auto states =
      std::span(tree_.graph().region(l.parts.body).params).subspan(2, l.parts.states);
  return static_cast<std::size_t>(
      std::ranges::count_if(states, [&](ValueId v) { return tree_.is_one_element(v); }));
}

}  // namespace rondel::lowering
