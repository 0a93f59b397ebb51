#include "passes/peel_loops.h"

#include "base/axis.h"
#include "base/cancellation.h"
#include "base/error.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "ir/loop_editor.h"
#include "passes/fold_constants.h"
#include "passes/loop_body.h"
#include "passes/replace_value.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Builder;
using ir::Graph;
using ir::LoopParts;
using ir::Node;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

/// The most trips that become straight code.
constexpr std::int64_t most_unrolled = 8;
/// Rounds in which the types of states are widened until they hold.
constexpr int most_widenings = 8;
/// Copies of a body: the first trip, the others, and the loop without trips.
constexpr std::size_t copies = 3;

bool has_rank(const Type& t) { return !t.is_tensor() || t.has_rank(); }

/// Whether the ranks of two types, each known, are equal.
bool same_rank(const Type& a, const Type& b) {
  if (!a.is_tensor() || !b.is_tensor()) return a == b;
  return a.has_rank() && b.has_rank() && a.rank() == b.rank();
}

/// What a trip gives for states of certain types.
struct TripTypes {
  std::vector<Type> next, items;
  bool agree = false;  ///< no shapes in it can contradict each other
};

/// Takes trips out of one loop.
class Peeling {
 public:
  Peeling(Graph& g, NodeId loop, Remarks* remarks)
      : g_(g), n_(loop), parts_(g.node(loop).loop()), remarks_(remarks, g, loop) {
    for (std::size_t j = 0; j < parts_.output_count(); ++j)
      if (g.is_read(g.node(loop).outputs[j])) read_.push_back(j);
  }

  bool run() {
    if (read_.empty() || !changes_ranks()) return false;
    const ir::TypeEnvironment k = types_in(g_, n_);
    if (!ir::most_trips_of(loop(), k).at_least(1) && ir::most_trips_of(loop(), k).known())
      return false;  // it makes no trip
    if (const char* why = why_not()) return leave(why);
    const std::int64_t all = trips_if_certain(k);
    if (!scans_reach(k, std::max<std::int64_t>(all, 1)))
      return leave("what it scans may be shorter than its trips");
    const std::optional<TripTypes> first = types_of_trip(k, initial_types(), 0);
    if (!first) return false;  // its ranks come from something else
    if (const std::optional<TripTypes> later = types_of_later_trips(k, first->next))
      return peel(k, *first, *later);
    if (all == 0)
      return leave(
          fmt::format("the ranks of its states are not known to hold from the second trip "
                      "on, and {} trips at most are not certain",
                      most_unrolled));
    std::vector<TripTypes> trips{*first};
    while (std::ssize(trips) < all) {
      std::optional<TripTypes> next = types_of_trip(k, trips.back().next, std::ssize(trips));
      if (!next) return leave("what a trip computes has no types that are known before it");
      trips.push_back(std::move(*next));
    }
    return unroll(trips);
  }

 private:
  using Values = std::vector<ValueId>;

  const Node& loop() const { return g_.node(n_); }
  const ir::Region& body() const { return g_.region(parts_.body); }
  /// Returns false.
  bool leave(std::string_view why) {
    remarks_.left([&] { return fmt::format("no trip is taken out of it: {}", why); });
    return false;
  }

  // ---- when

  bool changes_ranks() const {
    for (std::size_t s = 0; s < parts_.states; ++s)
      if (!has_rank(g_.value(body().params[2 + s]).type) && has_rank(initial_types()[s]))
        return true;
    return false;
  }
  std::vector<Type> initial_types() const {
    std::vector<Type> types;
    for (std::size_t s = 0; s < parts_.states; ++s)
      types.push_back(g_.value(loop().inputs[parts_.states_at() + s]).type);
    return types;
  }
  /// What keeps trips from being copied, whatever their types are; null if nothing does.
  const char* why_not() const {
    if (!may_copy(copies)) return "it has too many nodes to be copied";
    if (std::ranges::count(parts_.fixed, 0) != std::ssize(parts_.fixed))
      return "a state must not change its shape";
    for (std::size_t s = 0; s < parts_.stacks; ++s)
      if (parts_.has_extent(s) && is_stack_read(s)) return "a stack has an extent of its own";
    const bool decides = parts_.has_go || !g_.is_read(body().params[1]) ||
                         (g_.value(body().params[1]).uses.size() == 1 &&
                          body().results[0] == body().params[1]);
    return decides ? nullptr : "its body reads a condition that does not end it";
  }
  /// Whether so many copies of the body have few nodes together.
  bool may_copy(std::size_t times) const {
    return times * nodes_of_body(g_, n_) <= most_nodes_to_copy(g_, n_);
  }
  bool is_stack_read(std::size_t s) const { return g_.is_read(loop().outputs[parts_.states + s]); }

  /// The number of trips, if it is certain, small, and small enough for the number of nodes; else
  /// 0.
  std::int64_t trips_if_certain(const ir::TypeEnvironment& k) const {
    if (parts_.has_go && (!parts_.has_trips || !never_ends(g_, loop(), k))) return 0;
    const ir::Integer trips = ir::most_trips_of(loop(), k);
    if (!trips.known() || *trips.number > most_unrolled) return 0;
    return may_copy(static_cast<std::size_t>(*trips.number)) ? *trips.number : 0;
  }
  /// Whether no scan is known to be shorter than this number of trips.
  bool scans_reach(const ir::TypeEnvironment& k, std::int64_t trips) const {
    for (std::size_t s = 0; s < parts_.scans; ++s) {
      const Type& t = k.types[ir::index(loop().inputs[parts_.scans_at() + s])];
      if (!t.has_rank()) return false;
      const ir::Extent& e = t.extent(axis_from_front(parts_.axis_in[s], t.rank()));
      if (e.known() && e.value < trips) return false;
    }
    return true;
  }

  /// Nothing if the body refuses such states in trip `i` (none: in any one), or gives some of
  /// unknown rank.
  std::optional<TripTypes> types_of_trip(const ir::TypeEnvironment& loop_types,
                                         const std::vector<Type>& states,
                                         std::optional<std::int64_t> i) const {
    ir::TypeEnvironment k = ir::environment_around(g_, n_);
    k.keeps_broken_nodes = false;
    const Values& params = body().params;
    for (std::size_t p = 0; p < params.size(); ++p)
      k.types[ir::index(params[p])] = p >= 2 && p < 2 + states.size()
                                          ? states[p - 2]
                                          : loop_types.types[ir::index(params[p])];
    if (i) k.values.emplace(static_cast<std::int32_t>(params[0]), Tensor::scalar(*i));
    try {
      ir::infer_region(g_, parts_.body, k);
    } catch (const Error& e) {
      if (e.blame() == Blame::internal || ends_run(e)) throw;
      return std::nullopt;
    }
    TripTypes trip;
    for (std::size_t j = 1; j < body().results.size(); ++j)
      (j <= parts_.states ? trip.next : trip.items)
          .push_back(k.types[ir::index(body().results[j])]);
    if (!std::ranges::all_of(trip.next, has_rank)) return std::nullopt;
    trip.agree = shapes_agree(k);
    return trip;
  }

  /// The same for states of these types and all that follow from them: nothing if ranks change.
  std::optional<TripTypes> types_of_later_trips(const ir::TypeEnvironment& k,
                                                std::vector<Type> states) const {
    for (int round = 0; round < most_widenings; ++round) {
      std::optional<TripTypes> trip = types_of_trip(k, states, std::nullopt);
      if (!trip || !std::ranges::equal(trip->next, states, same_rank)) return std::nullopt;
      if (std::ranges::equal(trip->next, states, ir::fits)) return trip;
      for (std::size_t s = 0; s < states.size(); ++s) {
        const std::optional<Type> both = ir::join(states[s], trip->next[s]);
        if (!both) return std::nullopt;
        states[s] = *both;
      }
    }
    return std::nullopt;
  }

  /// Whether the items of each stack that is read have one type in all of these trips, which tells
  /// their shape where no trip is left.
  bool items_agree(const std::vector<TripTypes>& trips) const {
    for (std::size_t s = 0; s < parts_.stacks; ++s)
      if (is_stack_read(s) && !std::ranges::all_of(trips, [&](const TripTypes& t) {
            return is_told(t.items[s]) && t.items[s] == trips[0].items[s] &&
                   (t.items[s].is_static() || t.agree);
          }))
        return false;
    return true;
  }

  // ---- how

  bool peel(const ir::TypeEnvironment& k, const TripTypes& first, const TripTypes& later) {
    if (!items_agree({first, later})) return leave("what it stacks could have another shape");
    const bool certain = certainly_makes_a_trip(loop(), k);
    remarks_.done([&] {
      return fmt::format(
          "the first trip, in which states get their ranks, is computed before the "
          "others{}",
          certain ? "" : ", if there is one");
    });
    Builder b = builder();
    if (certain) {
      replace(first_and_rest(b));
      return true;
    }
    replace(b.if_(
        first_trip_runs(b), [&](Builder& then) { return first_and_rest(then); },
        [&](Builder& otherwise) { return no_trip(otherwise); }));
    return true;
  }

  bool unroll(const std::vector<TripTypes>& trips) {
    if (!items_agree(trips)) return leave("what it stacks could have another shape");
    remarks_.done([&] { return fmt::format("its {} trips are straight code", trips.size()); });
    Builder b = builder();
    Values states = initial_values();
    std::vector<Values> items(parts_.stacks);
    for (std::int64_t t = 0; t < std::ssize(trips); ++t) {
      const Values results = trip(b, t, states);
      for (std::size_t s = 0; s < parts_.states; ++s) states[s] = results[1 + s];
      for (std::size_t s = 0; s < parts_.stacks; ++s)
        items[s].push_back(results[1 + parts_.states + s]);
    }
    replace(read_of([&](std::size_t j) {
      if (j < parts_.states) return states[j];
      if (j == parts_.states + parts_.stacks) return b.scalar<std::int64_t>(std::ssize(trips));
      Values stacks;
      for (const ValueId item : items[j - parts_.states])
        stacks.push_back(as_stack(b, j - parts_.states, item));
      return join(b, j - parts_.states, std::move(stacks));
    }));
    return true;
  }

  Builder builder() const {
    Builder b(g_, loop().region);
    b.insert_before(n_);
    b.source(loop().source);
    return b;
  }
  Values initial_values() const {
    const auto from = loop().inputs.begin() + static_cast<std::ptrdiff_t>(parts_.states_at());
    return {from, from + static_cast<std::ptrdiff_t>(parts_.states)};
  }
  /// The values for the loop's outputs that are read.
  Values read_of(const auto& value_of_output) const {
    Values values;
    for (const std::size_t j : read_) values.push_back(value_of_output(j));
    return values;
  }

  /// The body's results in trip `t`, with these states.
  Values trip(Builder& b, std::int64_t t, const Values& states) const {
    ir::Cloner copy(g_, g_);
    const Values params = body().params;
    if (g_.is_read(params[0])) copy.map(params[0], b.scalar(t));
    if (parts_.has_go) copy.map(params[1], b.constant(Tensor::scalar(true)));
    for (std::size_t s = 0; s < parts_.states; ++s) copy.map(params[2 + s], states[s]);
    for (std::size_t s = 0; s < parts_.scans; ++s)
      copy.map(params[2 + parts_.states + s], element(b, s, b.scalar(t)));
    for (const NodeId n : std::vector<NodeId>(body().nodes.begin(), body().nodes.end()))
      b.copy(copy, n);
    Values results;
    for (const ValueId v : body().results) results.push_back(copy(v));
    return results;
  }
  /// What scan `s` reads in trip `t`; of a reversed one, the elements from the end on.
  ValueId element(Builder& b, std::size_t s, ValueId t) const {
    const ValueId at = parts_.reverse_in[s] != 0 ? b("sub", {b.scalar<std::int64_t>(-1), t}) : t;
    return b("gather", {loop().inputs[parts_.scans_at() + s], at}, {{"axis", parts_.axis_in[s]}});
  }

  ValueId as_stack(Builder& b, std::size_t s, ValueId item) const {
    return b("unsqueeze", {item, b.integers({parts_.axis_out[s]})});
  }
  ValueId join(Builder& b, std::size_t s, Values items) const {
    if (parts_.reverse_out[s] != 0) std::ranges::reverse(items);
    return b("concat", std::move(items), {{"axis", parts_.axis_out[s]}});
  }

  /// Whether the loop makes a trip.
  ValueId first_trip_runs(Builder& b) const {
    if (!parts_.has_trips && parts_.has_go) return loop().inputs[parts_.go_at()];
    const ValueId zero = b.scalar<std::int64_t>(0), some = b("greater", {trips(b), zero});
    return parts_.has_go ? b("and", {some, loop().inputs[parts_.go_at()]}) : some;
  }
  /// The trip count. Without one, the least extent of what is scanned.
  ValueId trips(Builder& b) const {
    if (parts_.has_trips) return loop().inputs[parts_.trips_at()];
    Values extents;
    for (std::size_t s = 0; s < parts_.scans; ++s)
      extents.push_back(
          b("gather",
            {b("shape", {loop().inputs[parts_.scans_at() + s]}), b.scalar(parts_.axis_in[s])},
            {{"axis", 0}}));
    return extents.size() == 1 ? extents[0] : b("min", extents);
  }

  /// The outputs that are read if the loop makes a trip.
  Values first_and_rest(Builder& b) const {
    const Values first = trip(b, 0, initial_values());
    const Values rest = g_.node(other_trips(b, first)).outputs;
    return read_of([&](std::size_t j) {
      if (j < parts_.states) return rest[j];
      if (j == parts_.states + parts_.stacks) return b("add", {rest[j], b.scalar<std::int64_t>(1)});
      return join(b, j - parts_.states, {as_stack(b, j - parts_.states, first[1 + j]), rest[j]});
    });
  }
  NodeId other_trips(Builder& b, const Values& first) const {
    const bool counted = parts_.has_trips || !parts_.has_go;
    const ValueId others = counted ? b("sub", {trips(b), b.scalar<std::int64_t>(1)})
                                   : ValueId::none;
    ir::Cloner copy(g_, g_);
    const NodeId rest = b.copy(copy, n_);
    ir::LoopEditor editor(g_, rest);
    if (counted) editor.set_trips(others);
    if (parts_.has_go) editor.set_go(first[0]);
    for (std::size_t s = 0; s < parts_.states; ++s)
      g_.set_input(rest, editor.parts().states_at() + s, first[1 + s]);
    count_from_one(editor);
    return rest;
  }
  /// Trip i of the loop computes what trip i + 1 did.
  void count_from_one(ir::LoopEditor& editor) const {
    const Values params = g_.region(editor.parts().body).params;
    if (!g_.is_read(params[0]) && parts_.scans == 0) return;
    Builder b(g_, editor.parts().body);
    b.insert_first();
    const std::vector<ir::Use> readers = g_.value(params[0]).uses;
    const ValueId i = b("add", {params[0], b.scalar<std::int64_t>(1)});
    replace_uses(g_, readers, i);
    for (std::size_t s = parts_.scans; s-- > 0;) {
      g_.replace_uses(params[2 + parts_.states + s], element(b, s, i));
      editor.remove_scan(s);
    }
  }

  /// The same if it makes none: empty stacks have the shape that the loop gives them.
  Values no_trip(Builder& b) const {
    Values outputs = initial_values();
    outputs.resize(parts_.output_count());
    outputs.back() = b.scalar<std::int64_t>(0);
    if (std::ranges::any_of(read_, [&](std::size_t j) {
          return j >= parts_.states && j < parts_.states + parts_.stacks;
        })) {
      const ValueId zero = b.scalar<std::int64_t>(0);
      ir::Cloner copy(g_, g_);
      const NodeId without_trips = b.copy(copy, n_);
      ir::LoopEditor(g_, without_trips).set_trips(zero);
      outputs = g_.node(without_trips).outputs;
    }
    return read_of([&](std::size_t j) { return outputs[j]; });
  }

  void replace(const Values& outputs) {
    for (std::size_t k = 0; k < read_.size(); ++k) {
      const ValueId before = loop().outputs[read_[k]];
      if (g_.value(outputs[k]).name.empty()) g_.value(outputs[k]).name = g_.value(before).name;
      replace_value(g_, before, outputs[k]);
    }
    g_.erase_node(n_);
  }

  Graph& g_;
  const NodeId n_;
  const LoopParts parts_;
  std::vector<std::size_t> read_;  ///< the outputs that are read
  LoopRemarks remarks_;
};

}  // namespace

bool peel_loops(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    if (!g.is_erased(n)) changed = Peeling(g, n, remarks).run() || changed;
  }
  return changed && (renew_types(g), true);
}

}  // namespace rondel::passes
