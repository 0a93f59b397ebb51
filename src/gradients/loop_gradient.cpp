#include "base/axis.h"
#include "base/error.h"
#include "gradients/loop_batching.h"
#include "gradients/region_gradient.h"
#include "ir/clone.h"
#include "ir/infer.h"
#include "ir/loop_editor.h"
#include "ops/gradients.h"
#include "ops/layout/concat.h"
#include "ops/meaning.h"
#include "ops/sequences/sequence_gradients.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <utility>

namespace rondel::gradients {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::Type;
using ir::ValueId;

class LoopGradient {
 public:
  LoopGradient(ir::Builder& b, NodeId n, std::span<const ValueId> adjoints,
               const Influence& influence, std::span<const ValueId> captures)
      : g_(b.graph()), b_(b), n_(n), loop_(g_, n), types_(passes::types_in(g_, n)),
        adjoints_(adjoints), influence_(influence), captures_(captures) {}

  LoopAdjoints run() {
    const ir::Region& body = g_.region(parts().body);
    for (std::size_t s = 0; s < parts().states; ++s)
      if (influence_.contains(body.params[2 + s])) states_.push_back(s);
    for (std::size_t k = 0; k < parts().scans; ++k)
      if (influence_.contains(element(k))) scans_.push_back(k);
    if (states_.empty() && scans_.empty() && captures_.empty()) return {};
    items_ = parts().stacks;
    nodes_.assign(body.nodes.begin(), body.nodes.end());
    restore_finals();
    count_ = count();
    trips_ = b_("unsqueeze", {count_, b_.integers({0})});
    set_states();
    keep_values();
    scan_elements();
    scan_adjoints();
    reverse_.has_trips = true;
    reverse_.stacks = scans_.size();
    for (const std::size_t k : scans_) {
      reverse_.axis_out.push_back(parts().axis_in[k]);
      reverse_.reverse_out.push_back(parts().reverse_in[k] != 0 ? 0 : 1);
      reverse_.declared.push_back(type(element(k)));
    }
    std::vector<ValueId> inputs{count_};
    inputs.insert(inputs.end(), initial_.begin(), initial_.end());
    inputs.insert(inputs.end(), scanned_.begin(), scanned_.end());
    std::vector<ValueId> found = b_.loop(
        reverse_, std::move(inputs), [this](ir::Builder& inner, std::span<const ValueId> params) {
          return trip(inner, params);
        });
    const NodeId reverse = g_.value(found[0]).producer;
    passes::erase_unread(g_, g_.node(reverse).loop().body);
    keep_results_instead(reverse);
    batch_behind_loop(b_, reverse, states_.size(), found);
    drop_unread_scans(reverse);
    return adjoints_from(found);
  }

 private:
  /// A value of the body and the list that keeps it. A sequence or an optional also has values of
  /// the body that describe its tensors in each trip: the index of the first one in the list, their
  /// number, and whether the optional has an element.
  struct Listed {
    ValueId value, list, first = ValueId::none, length = ValueId::none, held = ValueId::none;
  };

  /// A state to which each trip joins something along an axis, at its end or before its beginning:
  /// the value of each trip is a part of the final value, which is kept alone.
  struct Grown {
    ValueId value, next, final;
    std::int64_t axis;
    bool at_end;
    /// The extent along the axis: `first` + `growth` times the trip index, if each trip joins as
    /// much; else a value of the body. Both i64[1].
    std::optional<std::int64_t> growth;
    ValueId first, extent;
  };

  const LoopParts& parts() const { return loop_.parts(); }
  const ir::Region& body() const { return g_.region(parts().body); }
  ValueId element(std::size_t k) const { return body().params[2 + parts().states + k]; }
  ValueId output(std::size_t j) const { return g_.node(n_).outputs[j]; }
  const Type& type(ValueId v) const { return g_.value(v).type; }

  void restore_output(std::size_t j, const Type& t) {
    if (output(j) != ValueId::none) return;
    g_.erase_output(n_, j);
    g_.insert_output(n_, j, t, {});
  }
  /// Restores unused final states, because zero adjoints get their shapes from them.
  void restore_finals() {
    for (const std::size_t s : states_) restore_output(s, type(body().params[2 + s]));
  }

  /// The trip count, i64[]. A value from before the loop is preferred to the loop's output, because
  /// more is known about it.
  ValueId count() {
    const ValueId scalar = b_.integers({});
    if (reads_all_of_its_scans() && parts().scans > 0)
      return b_("reshape", {axis_extent(loop_.scanned(0), parts().axis_in[0]), scalar});
    if (parts().has_trips && !parts().has_go) {
      const ValueId trips = g_.node(n_).inputs[parts().trips_at()];
      const ValueId at_least_none = b_("max", {trips, b_.scalar(std::int64_t{0})});
      return b_("reshape", {at_least_none, scalar});
    }
    const std::size_t last = parts().states + parts().stacks;
    restore_output(last, Type::scalar(DType::i64));
    return output(last);
  }

  // ---- states and scans of the reverse loop

  /// The states of the reverse loop: adjoints of states, which start as the adjoints of the final
  /// states, and sums for the adjoints of captures, which start as zeros. Sums of narrow floats are
  /// f32, and are rounded once behind the loop.
  void set_states() {
    for (const std::size_t s : states_)
      initial_.push_back(adjoints_[s] != ValueId::none ? adjoints_[s]
                                                       : ops::zeros_like(b_, output(s)));
    for (const ValueId v : captures_)
      initial_.push_back(type(v).is_tensor() ? ops::wide_zeros_like(b_, v)
                                             : ops::zeros_like(b_, v));
    reverse_.states = initial_.size();
  }

  void add_scan(ValueId x, std::int64_t axis, bool reverse) {
    scanned_.push_back(x);
    reverse_.axis_in.push_back(axis);
    reverse_.reverse_in.push_back(reverse ? 1 : 0);
    ++reverse_.scans;
  }

  /// Keeps the states at the start of each trip, and the results of costly nodes. A value whose
  /// shape may change from trip to trip is kept in a list (a sequence that is a state); a sequence
  /// is kept in a list of the tensors of all trips.
  void keep_values() {
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
    std::unordered_set<ValueId> same;
    for (const NodeId n : nodes_) {
      if (is_same_in_each_trip(n, same)) {
        same.insert(g_.node(n).outputs.begin(), g_.node(n).outputs.end());
        continue;
      }
      for (const ValueId v : g_.node(n).outputs)
        if (v != ValueId::none && passes::is_costly(g_.node(n)) && passes::keeps_shape(types_, v)) {
          keep_in_stack(v);
          ++computed_;
        }
    }
  }
  /// Whether a node makes the same in each trip: a constant, or what only constants, values from
  /// outside and `same` values decide. The reverse loop computes such results once.
  bool is_same_in_each_trip(NodeId n, const std::unordered_set<ValueId>& same) const {
    const ir::Node& node = g_.node(n);
    return node.regions.empty() && !node.op->random &&
           std::ranges::all_of(node.inputs, [&](ValueId x) {
             return x == ValueId::none || g_.value(x).region != parts().body || same.contains(x);
           });
  }
  /// Whether a state grows by what is joined to it, so that only the extents need be kept.
  bool keep_as_part(std::size_t s) {
    const ValueId v = body().params[2 + s];
    const std::optional<Joined> joined = joined_to(v, body().results[1 + s]);
    if (!joined) return false;
    restore_output(s, type(v));
    Grown grown{v,
                body().results[1 + s],
                output(s),
                joined->axis,
                joined->at_end,
                joined->growth,
                ValueId::none,
                ValueId::none};
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
  /// How a value is made of another one, which it has a part of: by a node that joins something to
  /// it, or by a loop whose trips do.
  struct Joined {
    std::int64_t axis;
    bool at_end;
    std::optional<std::int64_t> growth;  ///< if it is known
  };
  std::optional<Joined> joined_to(ValueId v, ValueId next) const {
    const NodeId n = g_.value(next).producer;
    if (n == NodeId::none || g_.node(n).region != g_.value(v).region || !type(v).is_tensor() ||
        !type(v).has_rank())
      return std::nullopt;
    return g_.node(n).is_loop() ? joined_by_loop(n, v, next) : joined_by_node(g_.node(n), v);
  }
  std::optional<Joined> joined_by_node(const ir::Node& join, ValueId v) const {
    const std::optional<std::int64_t> axis = ops::joined_axis(join);
    const std::vector<ValueId>& joined = join.inputs;
    if (!axis || joined.size() < 2 || (joined.front() != v && joined.back() != v))
      return std::nullopt;
    return Joined{axis_from_front(*axis, type(v).rank()), joined.front() == v, growth_of(join, v)};
  }
  std::optional<Joined> joined_by_loop(NodeId n, ValueId v, ValueId final) const {
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
  std::optional<std::int64_t> growth_of(const ir::Node& join, ValueId state) const {
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
  void keep_in_stack(ValueId v) {
    stacked_.push_back(v);
    add_scan(stack_of(v), 0, true);
  }
  /// A stack of the values of v in all trips: an existing one if there is one.
  ValueId stack_of(ValueId v) {
    for (std::size_t k = 0; k < parts().stacks; ++k)
      if (loop_.item(k) == v && parts().axis_out[k] == 0 && parts().reverse_out[k] == 0 &&
          !parts().has_extent(k) && loop_.stack(k) != ValueId::none)
        return loop_.stack(k);
    ir::Extents extents = type(v).extents();
    extents.insert(extents.begin(), ir::Extent());
    kept_stacks_.push_back(loop_.add_stack(v, 0, false, ValueId::none,
                                           Type::tensor(type(v).dtype(), std::move(extents)), {}));
    return kept_stacks_.back();
  }
  /// Adds a state that is a list, empty at first.
  ir::LoopEditor::State add_list(DType t) {
    ir::Builder before(g_, b_.region());
    before.insert_before(n_);
    const Type list = Type::sequence(Type::unranked(t));
    return loop_.add_state(ops::empty_sequence(before, t), ValueId::none, list, {});
  }
  void keep_in_list(ValueId v) {
    const auto [param, final] = add_list(type(v).dtype());
    ir::Builder inside(g_, parts().body);
    loop_.set_next(parts().states - 1, inside("sequence_insert", {param, v}));
    listed_.push_back({v, final});
  }
  /// There are no sequences of sequences: one list holds the tensors of all trips, and stacks hold,
  /// for each trip, the index of the first tensor, their number, and whether an optional has an
  /// element.
  void keep_tensors_in_list(ValueId v) {
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
    listed_.push_back(kept);
  }

  /// Whether the loop ends at the end of its scans, which all have the same extent.
  bool reads_all_of_its_scans() const {
    if (parts().has_trips || parts().has_go) return false;
    const auto extent = [this](std::size_t k) {
      const Type& t = type(loop_.scanned(k));
      const std::int64_t axis = parts().axis_in[k];
      return t.has_rank() && has_axis(axis, t.rank()) ? t.extent(axis_from_front(axis, t.rank()))
                                                      : ir::Extent();
    };
    for (std::size_t k = 1; k < parts().scans; ++k)
      if (!(extent(k) == extent(0))) return false;
    return true;
  }

  /// Scans the elements that the forward trips read, because reverse trips recompute with them.
  void scan_elements() {
    for (std::size_t k = 0; k < parts().scans; ++k) {
      const ValueId x = loop_.scanned(k);
      const std::int64_t axis = parts().axis_in[k];
      const bool reverse = parts().reverse_in[k] != 0;
      add_scan(reads_all_of_its_scans() ? x : part_read(x, axis, reverse), axis, !reverse);
    }
  }
  ValueId part_read(ValueId x, std::int64_t axis, bool reverse) {
    const ValueId extent = axis_extent(x, axis), axes = b_.integers({axis});
    if (!reverse) return b_("slice", {x, b_.integers({0}), trips_, axes});
    return b_("slice", {x, b_("sub", {extent, trips_}), extent, axes});
  }
  ValueId axis_extent(ValueId x, std::int64_t axis) {
    return b_("gather", {b_("shape", {x}), b_.integers({axis})}, {{"axis", 0}});
  }

  /// Scans the adjoints of items. A stack with an explicit extent may be longer than the trip
  /// count; the adjoints after the last item are dropped.
  void scan_adjoints() {
    for (std::size_t k = 0; k < items_; ++k) {
      const ValueId adjoint = adjoints_[parts().states - lists() + k];
      if (adjoint == ValueId::none) continue;
      const std::int64_t axis = parts().axis_out[k];
      const ValueId all = parts().has_extent(k) ? part_read(adjoint, axis, false) : adjoint;
      with_adjoint_.push_back(k);
      add_scan(all, axis, parts().reverse_out[k] == 0);
    }
  }
  /// The number of states that were added to keep values.
  std::size_t lists() const { return listed_.size(); }

  // ---- one trip of the reverse loop

  std::vector<ValueId> trip(ir::Builder& b, std::span<const ValueId> params) {
    const std::span<const ValueId> carried = params.subspan(2, reverse_.states);
    const std::span<const ValueId> scanned = params.subspan(2 + reverse_.states);
    // The shape of a state may change from trip to trip, and so may that of its adjoint: the
    // adjoint has the type of the state in the body, not that of the final state.
    for (std::size_t j = 0; j < states_.size(); ++j)
      g_.value(carried[j]).type = type(body().params[2 + states_[j]]);
    ir::Cloner copy(g_, g_);
    const ValueId last = b("sub", {count_, b.scalar(std::int64_t{1})});
    const ValueId i = b("sub", {last, params[0]});
    copy.map(body().params[0], i);
    copy.map(body().params[1], params[1]);
    const std::size_t given = stacked_.size() - computed_;
    for (std::size_t k = 0; k < given; ++k) copy.map(stacked_[k], scanned[k]);
    for (const Listed& l : listed_) copy.map(l.value, of_trip(b, copy, l, i));
    for (const Grown& grown : grown_)
      copy.map(grown.value,
               part_of(b, grown, extent_in_trip(b, copy, grown, i), type(grown.value)));
    const std::vector<std::pair<ValueId, ValueId>> parts_of_next = next_parts(b, copy, i);
    for (std::size_t k = 0; k < parts().scans; ++k)
      copy.map(element(k), scanned[stacked_.size() + k]);
    for (const NodeId n : nodes_) copy.node(n, b.region());
    for (const NodeId n : nodes_)
      if (const ir::Node& node = g_.node(n); ops::is_elementwise(*node.op))
        clones_.emplace_back(node.outputs[0], copy(node.outputs[0]));
    std::vector<ValueId> results = differentiated(b, copy, params[1], carried, scanned);
    // What is kept replaces what is computed again, which becomes unread: results of costly nodes,
    // and the states that follow those that grow.
    const auto replace = [&](ValueId computed, ValueId kept) {
      std::ranges::replace(results, computed, kept);
      g_.replace_uses(computed, kept);
    };
    for (std::size_t k = given; k < stacked_.size(); ++k) replace(copy(stacked_[k]), scanned[k]);
    for (const auto& [next, part] : parts_of_next) replace(copy(next), part);
    return results;
  }
  /// The states that follow those that grow as much in each trip: parts of the final values, too.
  std::vector<std::pair<ValueId, ValueId>> next_parts(ir::Builder& b, ir::Cloner& copy, ValueId i) {
    std::vector<std::pair<ValueId, ValueId>> parts;
    const ValueId following = b("add", {i, b.scalar(std::int64_t{1})});
    for (const Grown& grown : grown_)
      if (grown.growth)
        parts.emplace_back(grown.next, part_of(b, grown, extent_in_trip(b, copy, grown, following),
                                               type(grown.next)));
    return parts;
  }
  /// The value of trip i, read from the list that keeps it.
  ValueId of_trip(ir::Builder& b, ir::Cloner& copy, const Listed& l, ValueId i) {
    const Type own = type(l.value);
    if (l.length == ValueId::none) return typed(b("sequence_at", {l.list, i}), own);
    const ValueId empty = ops::empty_sequence(b, own.dtype());
    const ValueId tensors = ops::with_tensors_of(b, empty, l.list, copy(l.first), copy(l.length));
    return own.is_optional() ? ops::optional_of(b, tensors, copy(l.held), own.element()) : tensors;
  }
  ValueId extent_in_trip(ir::Builder& b, ir::Cloner& copy, const Grown& grown, ValueId i) {
    if (!grown.growth) return copy(grown.extent);
    const ValueId joined = b("mul",
                             {b("unsqueeze", {i, b.integers({0})}), b.integers({*grown.growth})});
    return b("add", {grown.first, joined});
  }
  /// The state of this extent, a part of the final value.
  ValueId part_of(ir::Builder& b, const Grown& grown, ValueId extent, const Type& t) {
    const ValueId all = b("shape", {grown.final}, {{"start", grown.axis}, {"end", grown.axis + 1}});
    const ValueId from = grown.at_end ? b.integers({0}) : b("sub", {all, extent});
    const ValueId to = grown.at_end ? extent : all;
    return typed(b("slice", {grown.final, from, to, b.integers({grown.axis})}), t);
  }
  /// A tensor in the dtype of `like`; a sequence or an optional as it is.
  ValueId in_dtype_of(ir::Builder& b, ValueId v, ValueId like) const {
    return type(v).is_tensor() ? ops::as(b, v, type(like).dtype()) : v;
  }
  ValueId typed(ValueId v, const Type& t) {
    g_.value(v).type = ir::completed(g_.value(v).type, t);
    return v;
  }
  std::vector<ValueId> differentiated(ir::Builder& b, ir::Cloner& copy, ValueId go,
                                      std::span<const ValueId> carried,
                                      std::span<const ValueId> scanned) {
    Influence influence(g_);
    for (const std::size_t s : states_) influence.add(copy(body().params[2 + s]));
    for (const std::size_t k : scans_) influence.add(copy(element(k)));
    for (const ValueId v : captures_) influence.add(v);
    influence.spread(b.region());
    RegionGradient gradient(b, influence);
    const auto seed = [&](ValueId result, ValueId adjoint) {
      if (influence.contains(result)) gradient.add(result, adjoint);
    };
    for (std::size_t j = 0; j < states_.size(); ++j)
      seed(copy(body().results[1 + states_[j]]), carried[j]);
    const std::size_t first = stacked_.size() + parts().scans;
    for (std::size_t j = 0; j < with_adjoint_.size(); ++j)
      seed(copy(body().results[1 + parts().states + with_adjoint_[j]]), scanned[first + j]);
    gradient.run();
    std::vector<ValueId> results{go};
    const auto found = [&](ValueId v) {
      const ValueId adjoint = gradient.adjoint(v);
      return adjoint != ValueId::none ? adjoint : ops::zeros_like(b, v);
    };
    for (const std::size_t s : states_) results.push_back(found(copy(body().params[2 + s])));
    for (std::size_t j = 0; j < captures_.size(); ++j) {
      const ValueId sum = carried[states_.size() + j], adjoint = gradient.adjoint(captures_[j]);
      results.push_back(adjoint == ValueId::none
                            ? sum
                            : ops::sum_of_adjoints(b, sum, in_dtype_of(b, adjoint, sum)));
    }
    for (const std::size_t k : scans_) results.push_back(found(copy(element(k))));
    return results;
  }

  // ---- cleanup and results

  /// If an element-wise node is the only reader of some kept values, its result is kept instead.
  void keep_results_instead(NodeId reverse) {
    ir::LoopEditor editor(g_, reverse);
    for (const auto& [v, clone] : clones_) {
      const NodeId n = g_.value(clone).producer;
      if (!g_.is_read(clone) || !reads_kept_values_alone(editor, n) ||
          !passes::keeps_shape(types_, v))
        continue;
      const ValueId stack = stack_of(v);
      const ValueId kept = editor.add_scan(stack, 0, true, type(v), {});
      g_.replace_uses(clone, kept);
      g_.erase_node(n);
    }
  }
  /// Whether a node reads only kept values, constants and values from outside the loop, no other
  /// node reads these kept values, and they have the type of the result.
  bool reads_kept_values_alone(const ir::LoopEditor& editor, NodeId n) const {
    bool any = false;
    for (const ValueId x : g_.node(n).inputs) {
      if (x == ValueId::none || g_.value(x).region != editor.parts().body) continue;
      if (g_.constant(x) != nullptr) continue;
      const bool kept = is_kept(editor, x) && g_.value(x).uses.size() == 1 &&
                        type(x) == type(g_.node(n).outputs[0]);
      if (!kept) return false;
      any = true;
    }
    return any;
  }
  bool is_kept(const ir::LoopEditor& editor, ValueId x) const {
    const auto at = static_cast<std::size_t>(g_.value(x).position);
    const std::size_t first = 2 + editor.parts().states;
    return g_.value(x).producer == NodeId::none && at >= first &&
           g_.value(editor.scanned(at - first)).producer == n_;
  }
  /// Removes scans that no trip reads, and the stacks and lists that were made for them. The
  /// reverse loop does not need scans to end: it has a trip count.
  void drop_unread_scans(NodeId reverse) {
    const std::size_t first_list = parts().states - lists();
    ir::LoopEditor editor(g_, reverse);
    for (std::size_t k = editor.parts().scans; k-- > 0;) {
      const ir::Region& trip = g_.region(editor.parts().body);
      if (g_.is_read(trip.params[2 + editor.parts().states + k])) continue;
      const ValueId x = editor.scanned(k);
      editor.remove_scan(k);
      if (std::ranges::count(kept_stacks_, x) > 0 && !g_.is_read(x))
        loop_.remove_stack(static_cast<std::size_t>(g_.value(x).position) - parts().states);
    }
    for (std::size_t k = lists(); k-- > 0;)
      if (!g_.is_read(listed_[k].list)) remove_list(listed_[k], first_list + k);
  }
  void remove_list(const Listed& l, std::size_t s) {
    const NodeId insert = g_.value(body().results[1 + s]).producer;
    loop_.set_next(s, body().params[2 + s]);
    g_.erase_node(insert);
    if (l.first != ValueId::none) g_.erase_node(g_.value(l.first).producer);
    loop_.remove_state(s);
  }

  LoopAdjoints adjoints_from(std::span<const ValueId> found) {
    LoopAdjoints adjoints;
    adjoints.inputs.assign(g_.node(n_).inputs.size(), ValueId::none);
    for (std::size_t j = 0; j < states_.size(); ++j)
      adjoints.inputs[parts().states_at() + states_[j]] = found[j];
    for (std::size_t j = 0; j < captures_.size(); ++j)
      adjoints.captures.emplace_back(captures_[j],
                                     in_dtype_of(b_, found[states_.size() + j], captures_[j]));
    for (std::size_t j = 0; j < scans_.size(); ++j)
      adjoints.inputs[parts().scans_at() + scans_[j]] = whole(scans_[j],
                                                              found[reverse_.states + j]);
    return adjoints;
  }
  /// Pads the adjoint of a scan with zeros for the elements that no trip has read.
  ValueId whole(std::size_t k, ValueId part) {
    part = with_shapes_of_elements(k, part);
    if (reads_all_of_its_scans()) return part;
    const std::int64_t axis = parts().axis_in[k];
    const ValueId unread = b_("sub", {axis_extent(loop_.scanned(k), axis), trips_});
    const ValueId none = b_.integers({0});
    const bool reverse = parts().reverse_in[k] != 0;
    const ValueId pads = b_("concat", {reverse ? unread : none, reverse ? none : unread},
                            {{"axis", 0}});
    return b_("pad", {part, pads, ValueId::none, b_.integers({axis})});
  }
  /// Without trips, the rank and the extents of the adjoints of elements are only those that their
  /// types tell; the scan has all.
  ValueId with_shapes_of_elements(std::size_t k, ValueId part) {
    const Type& t = type(element(k));
    if (t.has_rank() && std::ranges::all_of(t.extents(), &ir::Extent::known)) return part;
    const ValueId scanned = loop_.scanned(k);
    if (reads_all_of_its_scans()) return ops::with_shape_of(b_, part, scanned);
    const std::int64_t axis = parts().axis_in[k];
    std::vector<ValueId> shape{b_("shape", {scanned}, {{"end", axis}}), trips_};
    if (axis != -1) shape.push_back(b_("shape", {scanned}, {{"start", axis + 1}}));
    return b_("reshape", {part, b_("concat", std::move(shape), {{"axis", 0}})}, {{"allowzero", 1}});
  }

  ir::Graph& g_;
  ir::Builder& b_;
  const NodeId n_;
  ir::LoopEditor loop_;
  const ir::TypeEnvironment types_;
  const std::span<const ValueId> adjoints_;
  const Influence& influence_;
  const std::span<const ValueId> captures_;
  std::vector<NodeId> nodes_;                ///< of the body
  std::size_t items_ = 0;                    ///< number of stacks before values were kept
  std::vector<std::size_t> states_, scans_;  ///< influenced ones, by number
  /// Values of the body, each kept in a stack; the last `computed_` are results of costly nodes.
  std::vector<ValueId> stacked_;
  std::size_t computed_ = 0;
  std::vector<ValueId> kept_stacks_;  ///< stacks that were added to the forward loop
  std::vector<Listed> listed_;
  std::vector<Grown> grown_;
  /// Results of the body's element-wise nodes, and their copies in the reverse body.
  std::vector<std::pair<ValueId, ValueId>> clones_;
  std::vector<std::size_t> with_adjoint_;  ///< stacks that have adjoints, by number
  ValueId count_ = ValueId::none;          ///< trips of the forward loop, i64[]
  ValueId trips_ = ValueId::none;          ///< the same, i64[1]
  LoopParts reverse_;
  std::vector<ValueId> initial_, scanned_;
};

}  // namespace

LoopAdjoints loop_gradient(ir::Builder& b, NodeId n, std::span<const ValueId> adjoints,
                           const Influence& influence, std::span<const ValueId> captures) {
  return LoopGradient(b, n, adjoints, influence, captures).run();
}

}  // namespace rondel::gradients
