#include "lowering/schedule.h"

#include "base/text.h"
#include "ir/name_of.h"
#include "lowering/shape_class.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::lowering {

using ir::NodeId;
using ir::ValueId;

void Schedule::name_extents(const ShapeClass& c, std::span<const ir::Type> declared) {
  const auto add = [&](const ir::Extents& ours, const ir::Extents& theirs) {
    for (std::size_t a = 0; a < ours.size() && a < theirs.size(); ++a)
      if (ours[a].symbolic() && ours[a].symbol.is_name() && theirs[a].symbolic() &&
          theirs[a].symbol.is_of_models())
        names.try_emplace(ours[a].symbol, theirs[a]);
  };
  for (std::size_t k = 0; k < c.types.size() && k < declared.size(); ++k)
    if (declared[k].is_tensor() && declared[k].has_rank() && c.types[k].has_rank())
      add(c.types[k].extents(), declared[k].extents());
}

std::string Schedule::text(const ir::Extent& e) const {
  return to_text(ir::substitute(e, [&](ir::Symbol name) -> ir::Integer {
    const auto known = names.find(name);
    if (known != names.end()) return known->second;
    return name.is_of_models() ? ir::Integer(name) : ir::Integer();
  }));
}

std::string Schedule::text(std::span<const ir::Extent> extents) const {
  return fmt::format("[{}]", join(extents, ", ", [&](const ir::Extent& e) { return text(e); }));
}

void ScheduleNotes::open(std::string what) {
  const std::size_t here = b_.mark();
  open_.push_back({std::move(what), {}, {}, here, here, here});
}

void ScheduleNotes::body() { open_.back().body = b_.mark(); }

void ScheduleNotes::note(std::string line) {
  std::vector<std::string>& notes = open_.back().notes;
  if (!line.empty() && std::ranges::count(notes, line) == 0) notes.push_back(std::move(line));
}

void ScheduleNotes::close() {
  Nest made = std::move(open_.back());
  open_.pop_back();
  made.end = b_.mark();
  (open_.empty() ? to_.nests : open_.back().nests).push_back(std::move(made));
}

void ScheduleNotes::finish() {
  const auto place = [&](const auto& self, Nest& nest) -> void {
    for (std::size_t* at : {&nest.begin, &nest.body, &nest.end}) *at = b_.marks()[*at];
    for (Nest& inner : nest.nests) self(self, inner);
  };
  for (Nest& nest : to_.nests) place(place, nest);
}

std::string short_name(const ir::Graph& g, NodeId n) {
  constexpr std::string_view prefix = "node ";
  const ir::Node& node = g.node(n);
  if (node.source.starts_with(prefix)) return node.source.substr(prefix.size());
  if (!node.source.empty()) return node.source;
  const bool named = !node.outputs.empty() && node.outputs[0] != ValueId::none &&
                     !g.value(node.outputs[0]).name.empty();
  return named ? fmt::format("'{}' ({})", g.value(node.outputs[0]).name, node.op->name)
               : fmt::format("({})", node.op->name);
}

std::string ScheduleNotes::names(std::span<const NodeId> nodes) const {
  std::vector<std::string> all;
  for (const NodeId n : nodes)
    if (std::string made = name(n); std::ranges::count(all, made) == 0)
      all.push_back(std::move(made));
  return join(all, ", ");
}

std::string ScheduleNotes::nest(std::span<const NodeId> nodes, const ir::Types& types) const {
  const ir::Node& first = g_.node(nodes[0]);
  const auto extents = [&](ValueId v) -> std::string {
    const ir::Type& t = types[ir::index(v)];
    return t.is_tensor() && t.has_rank() ? to_.text(t.extents()) : "?";
  };
  if (ops::calls_kernel(*first.op)) return "kernel call: " + name(nodes[0]);
  const auto made = std::ranges::find_if(first.outputs, [](ValueId v) {
    return v != ValueId::none;
  });
  const std::string space = made == first.outputs.end() ? "?" : extents(*made);
  if (ops::reads_buffers(*first.op)) return fmt::format("product {}: {}", space, name(nodes[0]));
  const std::string all = (nodes.size() > 1 ? "fused " : "") + names(nodes);
  if (ops::is_reduction(*first.op))
    return fmt::format("reduce {} to {}: {}", extents(first.inputs[0]), space, all);
  return fmt::format("for elements {}: {}", space, all);
}

void ScheduleNotes::note_places(std::span<const std::pair<ValueId, std::string>> places) {
  std::vector<std::pair<std::string, std::string>> lines;  // place, values
  for (const auto& [v, place] : places) {
    const std::string shown = g_.value(v).name.empty() ? "" : fmt::format("'{}'", g_.value(v).name);
    if (shown.empty()) continue;
    const auto at = std::ranges::find(lines, place, &std::pair<std::string, std::string>::first);
    if (at == lines.end()) lines.emplace_back(place, shown);
    else at->second += ", " + shown;
  }
  for (const auto& [place, values] : lines) note(fmt::format("stored at {}: {}", place, values));
}

void ScheduleNotes::note_computed_at(NodeId reader, std::span<const NodeId> nodes) {
  if (nodes.empty()) return;
  note(fmt::format("computed at {}: {}, because nothing else reads {}", name(reader), names(nodes),
                   nodes.size() > 1 ? "them" : "it"));
}

}  // namespace rondel::lowering
