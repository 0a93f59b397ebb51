// Loops whose trips all run for one element before the next.
#include "lowering/lower_region.h"

#include <algorithm>

namespace rondel::lowering {

using ir::NodeId;
using ir::ValueId;
using scalar::Ex;
using scalar::Indices;

std::string RegionLowering::why_not_by_elements(const LoopContext& l) const {
  const ir::Graph& g = tree_.graph();
  const ir::Region& body = g.region(l.parts.body);
  const std::vector<std::size_t> changing = changing_states(l);
  if (l.parts.has_go) return "a condition may end it";
  if (g.hands_on_condition(l.node)) return "its trips read the condition of the trip before";
  if (l.parts.has_trips && l.parts.scans > 0) return "its scans may be too short for its count";
  if (changing.empty()) return "it has no state that changes";
  if (tree_.is_one_element(body.params[2 + changing[0]])) return "its states have one element";
  if (!tree_.changing_extents(l.node).empty()) return "extents of its states change";
  const ir::Extents& space = type(body.params[2 + changing[0]]).extents();
  const auto in_space = [&](ValueId v) { return type(v).extents() == space; };
  const std::vector<NodeId> nodes = nodes_of_trip(l);
  const auto is_plain = [&](NodeId n) {
    return ops::is_elementwise(*g.node(n).op) && !ir::can_fail(g, n) && tree_.measures(n).empty() &&
           tree_.conditions_inside(n).empty() &&
           (in_space(g.node(n).outputs[0]) || tree_.is_one_element(g.node(n).outputs[0]));
  };
  if (const auto other = std::ranges::find_if_not(nodes, is_plain); other != nodes.end())
    return short_name(g, *other) + " is not computed element by element";
  const auto is_made = [&](ValueId v) {
    const NodeId maker = g.value(v).producer;
    return maker != NodeId::none && std::ranges::count(nodes, maker) > 0;
  };
  for (const std::size_t s : changing) {
    const ValueId next = body.results[1 + s];
    const bool moved = std::ranges::any_of(
        changing, [&](std::size_t other) { return body.params[2 + other] == next; });
    if (!in_space(body.params[2 + s]) || !in_space(next) || !(is_made(next) || moved))
      return "its states are not all of one index space";
  }
  const auto trip_values = std::span(body.params).subspan(2 + l.parts.states);
  if (std::ranges::any_of(trip_values, [&](ValueId v) { return plan_.copy(v).has_value(); }))
    return "elements of its scans are copied";
  for (std::size_t k = 0; k < l.parts.stacks; ++k) {
    const ValueId item = body.results[1 + l.parts.states + k];
    if (!is_made(item) || !in_space(item) || l.stacks[k].limit || l.stacks[k].size)
      return "what it stacks is not of the index space of its states";
    if (l.node == tree_.top() &&
        std::ranges::any_of(tree_.item_type(k).extents(),
                            [&](const ir::Extent& e) { return tree_.size_in(e).has_value(); }))
      return "the size of what it stacks becomes known inside";
  }
  const bool rows = l.parts.stacks > 0 || std::ranges::any_of(trip_values, [&](ValueId v) {
                      return !tree_.is_one_element(v);
                    });
  if (rows && !has_short_rows(body.params[2 + changing[0]]))
    return "rows of its scans or stacks are longer than a page, or of no known length";
  return "";
}

std::vector<NodeId> RegionLowering::nodes_of_trip(const LoopContext& l) const {
  std::vector<NodeId> nodes;
  for (const Group& group : tree_.groups(l.parts.body))
    nodes.insert(nodes.end(), group.nodes.begin(), group.nodes.end());
  return nodes;
}

/// Whether a row of a stack or a scan of such items lies in one page: rows are then read and
/// written a few elements at a time without a cost.
bool RegionLowering::has_short_rows(ValueId item) const {
  constexpr std::int64_t page = 4096;
  const ir::Type& t = type(item);
  return t.is_static() &&
         element_count(t.static_shape()) * static_cast<std::int64_t>(byte_size(t.dtype())) <= page;
}

std::vector<std::size_t> RegionLowering::changing_states(const LoopContext& l) const {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  std::vector<std::size_t> changing;
  for (std::size_t s = 0; s < l.parts.states; ++s)
    if (body.results[1 + s] != body.params[2 + s]) changing.push_back(s);
  return changing;
}

void RegionLowering::trips_by_elements(const LoopContext& l, Ex from, Ex to,
                                       std::span<const Ex> carried) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  const std::vector<NodeId> nodes = nodes_of_trip(l);
  for (const NodeId n : nodes)
    for (const ValueId v : tree_.graph().node(n).inputs) define_constant(v);
  define_params(l, from, carried);
  const auto outer = extents_;
  const std::vector<std::size_t> changing = changing_states(l);
  const auto is_changing = [&](ValueId v) {
    return std::ranges::any_of(changing, [&](std::size_t s) { return body.params[2 + s] == v; });
  };
  const auto in_trip = std::span(body.params).subspan(2 + l.parts.states);
  const std::vector<Ex> space = extents_of(body.params[2 + changing[0]]);
  NestScope elements(scope_.notes, [&] {
    return "for elements " +
           scope_.notes->schedule().text(type(body.params[2 + changing[0]]).extents());
  });
  elements.note([] {
    return "all trips for one element before the next, because each element of the states is "
           "computed from elements at its own index";
  });
  b_.for_all(space, [&](const Indices& i) {
    elements.body();
    ElementValues fixed;
    load_operands(
        scope_, nodes, i,
        [&](ValueId v) {
          const ir::ValueInfo& info = tree_.graph().value(v);
          return v != body.params[0] && !is_changing(v) && std::ranges::count(in_trip, v) == 0 &&
                 (info.producer == NodeId::none || info.region != l.parts.body);
        },
        fixed);
    std::vector<Ex> inits;
    for (const std::size_t s : changing)
      inits.push_back(b_.load(buffer(plan_.state(l.node, s)), i));
    NestScope trips(scope_.notes, [&] { return trips_text(l); });
    if (scope_.notes != nullptr) note_states(l, "registers");
    const std::vector<Ex> finals = b_.for_(from, to, inits, [&](Ex t, std::span<const Ex> now) {
      trips.body();
      const NestScope all(scope_.notes, [&] {
        return (nodes.size() > 1 ? "fused " : "") + scope_.notes->names(nodes);
      });
      define_params(l, t, carried);
      ElementValues values = fixed;
      for (std::size_t k = 0; k < changing.size(); ++k)
        values[body.params[2 + changing[k]]] = now[k];
      compute_element(scope_, nodes, space, i, values);
      for (std::size_t k = 0; k < l.parts.stacks; ++k)
        store_item(l, k, i, t, values.at(body.results[1 + l.parts.states + k]));
      std::vector<Ex> next;
      for (const std::size_t s : changing) next.push_back(values.at(body.results[1 + s]));
      return next;
    });
    for (std::size_t k = 0; k < changing.size(); ++k)
      b_.store(buffer(plan_.state(l.node, changing[k])), i, finals[k]);
  });
  extents_ = outer;  // what was found in the trip is known there only
}

}  // namespace rondel::lowering
