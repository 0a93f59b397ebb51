#include "gradients/kept_values.h"

#include "base/axis.h"
#include "ops/gradients.h"
#include "ops/layout/concat.h"
#include "ops/sequences/sequence_gradients.h"
#include "passes/loop_body.h"

#include <algorithm>

namespace rondel::gradients {

using ir::LoopParts;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

namespace {

constexpr std::int64_t most_integers_of_shapes = 16;

}  // namespace

void KeptValues::keep(std::span<const NodeId> nodes) {
  keep_states();
  keep_costly_results(nodes);
}

void KeptValues::keep_states() {
  std::vector<ValueId> kept;
  for (std::size_t s = 0, all = parts().states; s < all; ++s)
    if (const ValueId v = body().params[2 + s]; g_.is_read(v) || influence_.contains(v)) {
      if (passes::keeps_shape(types_, v) || !keep_as_part(s)) kept.push_back(v);
    }
  // If the loop has no condition, `go` is a result of the previous trip.
  if (!parts().has_go && g_.is_read(body().params[1])) kept.push_back(body().params[1]);
  for (const ValueId v : kept) {
    if (passes::keeps_shape(types_, v)) keep_in_stack(v);
    else if (type(v).is_tensor()) keep_in_list(v);
    else keep_tensors_in_list(v);
  }
}

void KeptValues::keep_costly_results(std::span<const NodeId> nodes) {
  std::unordered_set<ValueId> same;
  for (const NodeId n : nodes) {
    if (is_same_in_each_trip(n, same)) {
      same.insert(g_.node(n).outputs.begin(), g_.node(n).outputs.end());
      continue;
    }
    if (!passes::is_costly(g_.node(n)) || makes_few_integers(n)) continue;
    for (const ValueId v : g_.node(n).outputs)
      if (v != ValueId::none && passes::keeps_shape(types_, v)) {
        keep_in_stack(v);
        ++computed_;
      }
  }
}

/// Whether a node makes the same in each trip: a constant, or what only constants, values from
/// outside and `same` values decide. The reverse loop computes such results once.
bool KeptValues::is_same_in_each_trip(NodeId n, const std::unordered_set<ValueId>& same) const {
  const ir::Node& node = g_.node(n);
  return node.regions.empty() && !node.op->random &&
         std::ranges::all_of(node.inputs, [&](ValueId x) {
           return x == ValueId::none || g_.value(x).region != parts().body || same.contains(x);
         });
}

/// Whether a node makes a few integers of a few others, as shapes are computed. The reverse loop
/// computes such results again: of integers that were kept, inference does not know that they
/// follow from shapes.
bool KeptValues::makes_few_integers(NodeId n) const {
  const auto are_few = [&](ValueId v) {
    if (v == ValueId::none) return true;
    const Type& t = types_.types[ir::index(v)];
    return t.is_tensor() && (t.dtype() == DType::i64 || t.dtype() == DType::i32) && t.is_static() &&
           element_count(t.static_shape()) <= most_integers_of_shapes;
  };
  const ir::Node& node = g_.node(n);
  return node.regions.empty() && !node.op->random && std::ranges::all_of(node.inputs, are_few) &&
         std::ranges::all_of(node.outputs, are_few);
}

// What grows.

/// Whether a state grows by what is joined to it, so that only the extents need be kept.
bool KeptValues::keep_as_part(std::size_t s) {
  const ValueId v = body().params[2 + s], next = body().results[1 + s];
  const std::optional<Joined> joined = joined_to(v, next);
  if (!joined) return false;
  const ValueId final = ir::restored_output(g_, n_, s, type(v));
  Grown grown{
      v, next, final, joined->axis, joined->at_end, joined->growth, ValueId::none, ValueId::none};
  if (grown.growth) {
    grown.first = ops::extent_of(b_, g_.node(n_).inputs[parts().states_at() + s], grown.axis);
  } else {
    ir::Builder inside(g_, parts().body);
    grown.extent = ops::extent_of(inside, v, grown.axis);
    keep_in_stack(grown.extent);
  }
  grown_.push_back(grown);
  return true;
}

std::optional<KeptValues::Joined> KeptValues::joined_to(ValueId v, ValueId next) const {
  const NodeId n = g_.value(next).producer;
  if (n == NodeId::none || g_.node(n).region != g_.value(v).region || !type(v).is_tensor() ||
      !type(v).has_rank())
    return std::nullopt;
  return g_.node(n).is_loop() ? joined_by_loop(n, v, next) : joined_by_node(g_.node(n), v);
}

std::optional<KeptValues::Joined> KeptValues::joined_by_node(const ir::Node& join,
                                                             ValueId v) const {
  const std::optional<std::int64_t> axis = ops::joined_axis(join);
  const std::vector<ValueId>& joined = join.inputs;
  if (!axis || joined.size() < 2 || (joined.front() != v && joined.back() != v))
    return std::nullopt;
  return Joined{axis_from_front(*axis, type(v).rank()), joined.front() == v, growth_of(join, v)};
}

std::optional<KeptValues::Joined> KeptValues::joined_by_loop(NodeId n, ValueId v,
                                                             ValueId final) const {
  const LoopParts inner(g_.node(n));
  const auto s = static_cast<std::size_t>(g_.value(final).position);
  if (s >= inner.states || g_.node(n).inputs[inner.states_at() + s] != v) return std::nullopt;
  const ir::Region& trip = g_.region(inner.body);
  std::optional<Joined> joined = joined_to(trip.params[2 + s], trip.results[1 + s]);
  if (!joined) return std::nullopt;
  const Tensor* trips = inner.has_trips && !inner.has_go
                            ? g_.constant(g_.node(n).inputs[inner.trips_at()])
                            : nullptr;
  const std::int64_t count = trips != nullptr
                                 ? std::max<std::int64_t>(ir::integers_of(*trips).at(0), 0)
                                 : 0;
  std::int64_t all = 0;
  if (trips == nullptr || !joined->growth || __builtin_mul_overflow(*joined->growth, count, &all))
    joined->growth.reset();
  else joined->growth = all;
  return joined;
}

/// How much a node joins to a state, if it is as much in each trip.
std::optional<std::int64_t> KeptValues::growth_of(const ir::Node& join, ValueId state) const {
  std::int64_t growth = 0;
  bool is_state = false;  // a state that is joined twice doubles
  for (const ValueId x : join.inputs) {
    if (x == state && !std::exchange(is_state, true)) continue;
    const Type& t = types_.types[ir::index(x)];
    if (x == state || !t.has_rank()) return std::nullopt;
    const ir::Extent& e = t.extent(axis_from_front(*ops::joined_axis(join), t.rank()));
    if (!e.known() || __builtin_add_overflow(growth, e.value, &growth)) return std::nullopt;
  }
  return growth;
}

// Stacks and lists.

void KeptValues::keep_in_stack(ValueId v) {
  stacked_.push_back(v);
  stacks_.push_back(stack_of(v));
}

ValueId KeptValues::stack_of(ValueId v) {
  for (std::size_t k = 0; k < parts().stacks; ++k)
    if (loop_.item(k) == v && parts().axis_out[k] == 0 && parts().reverse_out[k] == 0 &&
        !parts().has_extent(k) && loop_.stack(k) != ValueId::none)
      return loop_.stack(k);
  ir::Extents extents = type(v).extents();
  extents.insert(extents.begin(), ir::Extent());
  added_stacks_.push_back(loop_.add_stack(v, 0, false, ValueId::none,
                                          Type::tensor(type(v).dtype(), std::move(extents)), {}));
  return added_stacks_.back();
}

/// Adds a state that is a list, empty at first.
ir::LoopEditor::State KeptValues::add_list(DType t) {
  ir::Builder before(g_, b_.region());
  before.insert_before(n_);
  const Type list = Type::sequence(Type::unranked(t));
  return loop_.add_state(ops::empty_sequence(before, t), ValueId::none, list, {});
}

void KeptValues::keep_in_list(ValueId v) {
  const auto [param, final] = add_list(type(v).dtype());
  ir::Builder inside(g_, parts().body);
  loop_.set_next(parts().states - 1, inside("sequence_insert", {param, v}));
  lists_.push_back({v, final});
}

/// There are no sequences of sequences: one list holds the tensors of all trips, and stacks hold,
/// for each trip, the index of the first tensor, their number, and whether an optional has an
/// element.
void KeptValues::keep_tensors_in_list(ValueId v) {
  const auto [param, final] = add_list(type(v).dtype());
  ir::Builder inside(g_, parts().body);
  Listed kept{v, final, inside("sequence_length", {param})};
  ValueId tensors = v;
  if (type(v).is_optional()) {
    kept.held = inside("optional_has_element", {v});
    keep_in_stack(kept.held);
    tensors = ops::tensors_held(inside, v, kept.held);
  }
  kept.length = inside("sequence_length", {tensors});
  keep_in_stack(kept.first);
  keep_in_stack(kept.length);
  const ValueId zero = inside.scalar(std::int64_t{0});
  loop_.set_next(parts().states - 1,
                 ops::with_tensors_of(inside, param, tensors, zero, kept.length));
  lists_.push_back(kept);
}

// In a trip of the reverse loop.

void KeptValues::map(ir::Builder& b, ir::Cloner& copy, std::span<const ValueId> elements,
                     ValueId i) const {
  for (std::size_t k = 0; k < stacked_.size() - computed_; ++k) copy.map(stacked_[k], elements[k]);
  for (const Listed& l : lists_) copy.map(l.value, of_trip(b, copy, l, i));
  for (const Grown& grown : grown_)
    copy.map(grown.value, part_of(b, grown, extent_in_trip(b, copy, grown, i), type(grown.value)));
}

std::vector<KeptValues::Replacement> KeptValues::replacements(ir::Builder& b, ir::Cloner& copy,
                                                              std::span<const ValueId> elements,
                                                              ValueId i) const {
  std::vector<Replacement> all;
  for (std::size_t k = stacked_.size() - computed_; k < stacked_.size(); ++k)
    all.push_back({stacked_[k], elements[k]});
  const ValueId following = b("add", {i, b.scalar(std::int64_t{1})});
  for (const Grown& grown : grown_)
    if (grown.growth)
      all.push_back({grown.next, part_of(b, grown, extent_in_trip(b, copy, grown, following),
                                         type(grown.next))});
  return all;
}

/// The value of trip i, read from the list that keeps it.
ValueId KeptValues::of_trip(ir::Builder& b, ir::Cloner& copy, const Listed& l, ValueId i) const {
  const Type own = type(l.value);
  if (l.length == ValueId::none) return typed(b("sequence_at", {l.list, i}), own);
  const ValueId empty = ops::empty_sequence(b, own.dtype());
  const ValueId tensors = ops::with_tensors_of(b, empty, l.list, copy(l.first), copy(l.length));
  return own.is_optional() ? ops::optional_of(b, tensors, copy(l.held), own.element()) : tensors;
}

ValueId KeptValues::extent_in_trip(ir::Builder& b, ir::Cloner& copy, const Grown& grown,
                                   ValueId i) const {
  if (!grown.growth) return copy(grown.extent);
  const ValueId joined = b("mul",
                           {b("unsqueeze", {i, b.integers({0})}), b.integers({*grown.growth})});
  return b("add", {grown.first, joined});
}

/// The state of this extent, a part of the final value.
ValueId KeptValues::part_of(ir::Builder& b, const Grown& grown, ValueId extent,
                            const Type& t) const {
  const ValueId all = b("shape", {grown.final}, {{"start", grown.axis}, {"end", grown.axis + 1}});
  const ValueId from = grown.at_end ? b.integers({0}) : b("sub", {all, extent});
  const ValueId to = grown.at_end ? extent : all;
  return typed(b("slice", {grown.final, from, to, b.integers({grown.axis})}), t);
}

ValueId KeptValues::typed(ValueId v, const Type& t) const {
  g_.value(v).type = ir::completed(g_.value(v).type, t);
  return v;
}

// What no trip reads.

void KeptValues::drop_if_unread(ValueId stack) {
  if (std::ranges::count(added_stacks_, stack) > 0 && !g_.is_read(stack))
    loop_.remove_stack(static_cast<std::size_t>(g_.value(stack).position) - parts().states);
}

void KeptValues::drop_unread_lists() {
  const std::size_t first = parts().states - lists();
  for (std::size_t k = lists(); k-- > 0;)
    if (!g_.is_read(lists_[k].list)) remove_list(lists_[k], first + k);
}

void KeptValues::remove_list(const Listed& l, std::size_t s) {
  const NodeId insert = g_.value(body().results[1 + s]).producer;
  loop_.set_next(s, body().params[2 + s]);
  g_.erase_node(insert);
  if (l.first != ValueId::none) g_.erase_node(g_.value(l.first).producer);
  loop_.remove_state(s);
}

}  // namespace rondel::gradients
