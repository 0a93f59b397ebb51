// What the lowering of a region tells of its schedule. Called only if somebody asks for it.
#include "base/text.h"
#include "ir/name_of.h"
#include "lowering/lower_region.h"

#include <algorithm>

namespace rondel::lowering {

using ir::NodeId;
using ir::ValueId;

namespace {

/// "1,000"
std::string counted(std::int64_t n) {
  std::string text = std::to_string(n);
  for (auto at = std::ssize(text) - 3; at > 0; at -= 3)
    text.insert(static_cast<std::size_t>(at), ",");
  return text;
}

}  // namespace

void RegionLowering::note_group(const Group& group, const LoopContext* around) {
  ScheduleNotes& notes = *scope_.notes;
  std::vector<std::pair<ValueId, std::string>> places;
  for (const NodeId n : group.computed())
    for (const ValueId v : tree_.graph().node(n).outputs)
      if (v != ValueId::none) places.emplace_back(v, place_of(v, group, around));
  notes.note_places(places);
  notes.note_computed_at(group.nodes[0], group.inlined_nodes());
  if (group.views > 0) notes.note("reads in place: " + notes.names(group.view_nodes()));
  if (const auto at = tree_.remarks().find(group.nodes[0]); at != tree_.remarks().end())
    for (const std::string& why : at->second) notes.note(why);
}

std::string RegionLowering::place_of(ValueId v, const Group& group,
                                     const LoopContext* around) const {
  const ir::Graph& g = tree_.graph();
  if (std::ranges::count(group.outputs, v) == 0) return "registers (read nowhere else)";
  std::vector<std::string> places;
  const auto storage = plan_.storage_of(v);
  if (tree_.is_one_element(v) && !(storage && ops::writes_buffers(*g.node(group.nodes[0]).op)))
    places.emplace_back("registers");
  else if (storage) places.push_back(name_of_storage(*storage, v, around));
  if (around != nullptr && stored_by_maker(v, around->parts.body))
    for (std::size_t k = 0; k < around->parts.stacks; ++k)
      if (g.region(around->parts.body).results[1 + around->parts.states + k] == v)
        places.push_back(name_of_stack(*around, k));
  return places.empty() ? "registers" : join(places, " and ");
}

/// A node that reads the value and is in another group; none if there is no such node.
NodeId RegionLowering::reader_outside(ValueId v) const {
  const auto made = tree_.maker(v);
  for (const Read& read : tree_.reads(v))
    if (read.node != NodeId::none && (!made || read.at != *made)) return read.node;
  return NodeId::none;
}

/// `v`: what is stored there, if a group of the loop's body stores it.
std::string RegionLowering::name_of_storage(StorageId id, ValueId v,
                                            const LoopContext* around) const {
  if (const auto state = state_names_.find(id); state != state_names_.end()) {
    if (v == ValueId::none) return "state " + state->second;
    if (around == nullptr) return fmt::format("state {}, in place", state->second);
    const auto next = std::span(tree_.graph().region(around->parts.body).results);
    const bool is_next = std::ranges::count(next.subspan(1, around->parts.states), v) > 0;
    return is_next ? fmt::format("state {}, in place", state->second)
                   : fmt::format("the memory of state {}", state->second);
  }
  if (plan_.all()[id].given) return "the result";
  const bool local = b_.buffer(buffer(id)).access == scalar::Access::local;
  const char* const place = local ? "a local array" : "the arena";
  const auto reader = v == ValueId::none ? NodeId::none : reader_outside(v);
  return reader == NodeId::none
             ? place
             : fmt::format("{} (for {})", place, short_name(tree_.graph(), reader));
}

std::string RegionLowering::name_of_stack(const LoopContext& l, std::size_t k) const {
  const ir::Graph& g = tree_.graph();
  const ValueId stack = g.node(l.node).outputs[l.parts.states + k];
  const ValueId item = g.region(l.parts.body).results[1 + l.parts.states + k];
  const bool named = stack != ValueId::none && !g.value(stack).name.empty();
  return "stack " + ir::name_of(g, named ? stack : item);
}

void RegionLowering::enter_states(const LoopContext& l) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  for (std::size_t s = 0; s < l.parts.states; ++s)
    if (const ValueId v = body.params[2 + s]; !tree_.is_one_element(v))
      state_names_[plan_.state(l.node, s)] = ir::name_of(tree_.graph(), v);
}

std::string RegionLowering::trips_text(const LoopContext& l) const {
  const ir::Node& node = tree_.graph().node(l.node);
  const std::string most = scope_.notes->schedule().text(tree_.most_trips(l.node));
  std::string trips;
  if (most.find('?') == std::string::npos)
    trips = tree_.most_trips(l.node).known() ? counted(tree_.most_trips(l.node).value) : most;
  else if (l.parts.has_trips)
    trips = "as many as " + ir::name_of(tree_.graph(), node.inputs[l.parts.trips_at()]) + " says";
  if (l.parts.has_go)
    trips = trips.empty() ? "until its condition ends it"
                          : "until its condition ends it, at most " + trips;
  return fmt::format("for trips of {}{}{}", scope_.notes->name(l.node), trips.empty() ? "" : ": ",
                     trips);
}

void RegionLowering::note_states(const LoopContext& l, std::string_view place) {
  const ir::Region& body = tree_.graph().region(l.parts.body);
  std::vector<std::pair<ValueId, std::string>> places;
  for (const std::size_t s : changing_states(l))
    places.emplace_back(body.params[2 + s], std::string(place));
  scope_.notes->note_places(places);
}

void RegionLowering::note_trips_in_order(const LoopContext& l, std::string_view otherwise) {
  enter_states(l);
  const ir::Region& body = tree_.graph().region(l.parts.body);
  std::vector<std::string> states;
  std::vector<std::pair<ValueId, std::string>> places;
  for (const std::size_t s : changing_states(l)) {
    const ValueId v = body.params[2 + s];
    states.push_back(ir::name_of(tree_.graph(), v));
    if (tree_.is_one_element(v)) places.emplace_back(v, "registers");
  }
  scope_.notes->note(states.empty()
                         ? fmt::format("its trips run in order: {}", otherwise)
                         : "its trips depend on each other: they hand on " + join(states, ", "));
  if (!states.empty()) scope_.notes->note("not element by element: " + why_not_by_elements(l));
  scope_.notes->note_places(places);
}

}  // namespace rondel::lowering
