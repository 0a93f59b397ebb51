#include "passes/unroll_loops.h"

#include "base/cancellation.h"
#include "ir/builder.h"
#include "ir/clone.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <optional>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::Type;
using ir::ValueId;

constexpr std::int64_t most_trips = 4;
/// The most nodes that all trips together become.
constexpr std::size_t most_nodes = 64;

/// Unrolls one loop.
class Unrolling {
 public:
  Unrolling(Graph& g, NodeId loop, Remarks* remarks)
      : g_(g), n_(loop), parts_(g.node(loop).loop()), remarks_(remarks, g, loop) {}

  bool run() {
    const std::optional<std::int64_t> trips = certain_trips();
    if (!trips || *trips < 1 || *trips > most_trips) return false;
    if (!is_small(*trips)) return leave("its trips would be too many nodes");
    if (!shapes_are_known(*trips))
      return leave("the shapes of what it carries or stacks are not known");
    remarks_.done([&] { return fmt::format("its {} trips are unrolled", *trips); });
    unroll(*trips);
    return true;
  }

 private:
  bool leave(const char* why) {
    remarks_.left([&] { return fmt::format("the loop is not unrolled: {}", why); });
    return false;
  }
  ValueId input(std::size_t at) const { return g_.node(n_).inputs[at]; }
  const ir::Region& body() const { return g_.region(parts_.body); }
  const Type& type(ValueId v) const { return g_.value(v).type; }

  /// The number of trips, if no data and no extent that is known later decide it.
  std::optional<std::int64_t> certain_trips() const {
    if (parts_.has_go && !(is_true(input(parts_.go_at())) && goes_on())) return std::nullopt;
    std::optional<std::int64_t> trips;
    if (parts_.has_trips) {
      const Tensor* count = g_.constant(input(parts_.trips_at()));
      if (count == nullptr || count->size() != 1) return std::nullopt;
      trips = *count->packed().data_as<std::int64_t>();
    }
    if (!parts_.has_trips && parts_.has_go) return std::nullopt;  // it never ends
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      const std::optional<std::int64_t> extent = scanned(k);
      if (!extent || (parts_.has_trips && *extent < *trips)) return std::nullopt;
      if (!parts_.has_trips) trips = std::min(*extent, trips.value_or(*extent));
    }
    return trips;
  }
  bool goes_on() const {
    return is_true(body().results[0]) || body().results[0] == body().params[1];
  }
  bool is_true(ValueId v) const {
    const Tensor* t = g_.constant(v);
    return t != nullptr && t->dtype() == DType::boolean && t->size() == 1 &&
           *t->packed().data_as<bool>();
  }
  std::optional<std::int64_t> scanned(std::size_t k) const {
    const Type& t = type(input(parts_.scans_at() + k));
    if (!t.has_rank() || axis_in(k) < 0 || axis_in(k) >= t.rank()) return std::nullopt;
    const ir::Extent& extent = t.extent(axis_in(k));
    return extent.known() ? std::optional(extent.value) : std::nullopt;
  }
  std::int64_t axis_in(std::size_t k) const {
    const std::int64_t axis = parts_.axis_in[k];
    return axis < 0 ? axis + type(input(parts_.scans_at() + k)).rank() : axis;
  }

  bool is_small(std::int64_t trips) const {
    std::size_t nodes = 0;
    for (const RegionId r : g_.regions_below(parts_.body)) {
      nodes += g_.region(r).nodes.size();
      if (std::ranges::any_of(g_.region(r).nodes, [&](NodeId n) { return g_.node(n).is_loop(); }))
        return false;
    }
    return nodes * static_cast<std::size_t>(trips) <= most_nodes;
  }
  /// Whether no check of a shape is lost: of a fixed state, an item, or a stack's extent. (And the
  /// condition that the body is given has the rank that it gives.)
  bool shapes_are_known(std::int64_t trips) const {
    if (!(type(body().results[0]) == Type::scalar(DType::boolean))) return false;
    for (std::size_t s = 0; s < parts_.states; ++s) {
      const Type &given = type(input(parts_.states_at() + s)), &next = type(body().results[1 + s]);
      if (parts_.fixed[s] != 0 && !(given.is_static() && given == next)) return false;
    }
    for (std::size_t k = 0; k < parts_.stacks; ++k) {
      if (!item_type(k).is_tensor() || !item_type(k).is_static()) return false;
      if (!parts_.has_extent(k)) continue;
      const Tensor* extent = g_.constant(input(parts_.extent_at(k)));
      if (extent == nullptr || *extent->packed().data_as<std::int64_t>() != trips) return false;
    }
    return true;
  }
  const Type& item_type(std::size_t k) const { return type(body().results[1 + parts_.states + k]); }

  void unroll(std::int64_t trips) {
    ir::Builder b(g_, g_.node(n_).region);
    b.insert_before(n_);
    b.source(g_.node(n_).source);
    const auto first = g_.node(n_).inputs.begin() + static_cast<std::ptrdiff_t>(parts_.states_at());
    std::vector<ValueId> states(first, first + static_cast<std::ptrdiff_t>(parts_.states));
    std::vector<std::vector<ValueId>> items(parts_.stacks);
    ValueId go = b.scalar(true);
    for (std::int64_t t = 0; t < trips; ++t) {
      ir::Cloner copy = trip(b, t, states);
      copy.map(body().params[1], go);
      for (const NodeId n : std::vector<NodeId>(body().nodes.begin(), body().nodes.end()))
        copy.node(n, b.region(), n_);
      go = copy(body().results[0]);
      for (std::size_t s = 0; s < parts_.states; ++s) states[s] = copy(body().results[1 + s]);
      for (std::size_t k = 0; k < parts_.stacks; ++k)
        items[k].push_back(copy(body().results[1 + parts_.states + k]));
    }
    std::vector<ValueId> results = states;
    for (std::size_t k = 0; k < parts_.stacks; ++k) results.push_back(stack(b, k, items[k]));
    results.push_back(b.scalar<std::int64_t>(trips));
    for (std::size_t j = 0; j < results.size(); ++j)
      if (const ValueId old = g_.node(n_).outputs[j]; old != ValueId::none)
        g_.replace_uses(old, results[j]);
    g_.erase_node(n_);
  }
  /// Maps the parameters of the body, but for its condition, to what they are in one trip.
  ir::Cloner trip(ir::Builder& b, std::int64_t t, const std::vector<ValueId>& states) {
    ir::Cloner copy(g_, g_);
    copy.map(body().params[0], b.scalar(t));
    for (std::size_t s = 0; s < parts_.states; ++s) copy.map(body().params[2 + s], states[s]);
    for (std::size_t k = 0; k < parts_.scans; ++k) {
      const ValueId element = body().params[2 + parts_.states + k];
      const std::int64_t at = parts_.reverse_in[k] != 0 ? *scanned(k) - 1 - t : t;
      if (g_.is_read(element))
        copy.map(element,
                 b("gather", {input(parts_.scans_at() + k), b.scalar(at)}, {{"axis", axis_in(k)}}));
    }
    return copy;
  }
  ValueId stack(ir::Builder& b, std::size_t k, std::vector<ValueId> items) {
    const std::int64_t given = parts_.axis_out[k];
    const std::int64_t axis = given < 0 ? given + item_type(k).rank() + 1 : given;
    if (parts_.reverse_out[k] != 0) std::ranges::reverse(items);
    for (ValueId& v : items) v = b("unsqueeze", {v, b.integers({axis})});
    return items.size() == 1 ? items[0] : b("concat", items, {{"axis", axis}});
  }

  Graph& g_;
  const NodeId n_;
  const LoopParts parts_;
  LoopRemarks remarks_;
};

}  // namespace

bool unroll_loops(Graph& g, Remarks* remarks) {
  bool changed = false;
  for (const NodeId n : loops_inside_out(g)) {
    check_cancellation();
    if (is_in_loop(g, g.node(n).region)) changed = Unrolling(g, n, remarks).run() || changed;
  }
  return changed;
}

}  // namespace rondel::passes
