#include "lowering/schedule.h"

#include "base/text.h"
#include "ir/name_of.h"
#include "lowering/shape_class.h"
#include "ops/meaning.h"

#include <algorithm>
#include <cctype>

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

void ScheduleNotes::open(Nest nest) {
  nest.begin = nest.body = nest.end = b_.mark();
  open_.push_back(std::move(nest));
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

namespace {

/// "'b' (Mul)"
std::string name_in_model(const ir::Graph& g, NodeId n) {
  constexpr std::string_view prefix = "node ";
  const ir::Node& node = g.node(n);
  if (node.source.starts_with(prefix)) return node.source.substr(prefix.size());
  if (!node.source.empty()) return node.source;
  const bool named = !node.outputs.empty() && node.outputs[0] != ValueId::none &&
                     !g.value(node.outputs[0]).name.empty();
  return named ? fmt::format("'{}' ({})", g.value(node.outputs[0]).name, node.op->name)
               : fmt::format("({})", node.op->name);
}

/// Whether the node of the model, "'y' (ReduceMax)", has the name of this op, "reduce_max".
bool is_op_of(std::string_view name, std::string_view op) {
  const std::size_t open = name.rfind('(');
  std::string theirs, ours;
  for (const char c : name.substr(open == std::string_view::npos ? 0 : open))
    if (std::isalnum(static_cast<unsigned char>(c)) != 0)
      theirs += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const char c : op)
    if (c != '_') ours += c;
  return theirs == ours;
}

}  // namespace

std::string short_name(const ir::Graph& g, NodeId n) {
  const ir::Node& node = g.node(n);
  std::string name = name_in_model(g, n);
  if (node.regions.empty() && !is_op_of(name, node.op->name))
    name.append(" as ").append(node.op->name);
  return name;
}

std::string ScheduleNotes::names(std::span<const NodeId> nodes) const {
  std::string all, last;
  for (const NodeId n : nodes) {
    const std::string made = name_in_model(g_, n);
    if (!last.empty() && made == last && short_name(g_, n) != made) {
      all.append(", ").append(g_.node(n).op->name);
      continue;
    }
    all.append(all.empty() ? "" : ", ").append(name(n));
    last = made;
  }
  return all;
}

Nest ScheduleNotes::nest(std::span<const NodeId> nodes, const ir::Types& types) const {
  const ir::Node& first = g_.node(nodes[0]);
  const auto extents = [&](ValueId v) -> std::string {
    const ir::Type &t = types[ir::index(v)], &declared = g_.value(v).type;
    if (!t.is_tensor() || !t.has_rank()) return "?";
    // What is known inside only has the model's name, if it has one.
    ir::Extents shown = t.extents();
    if (declared.is_tensor() && declared.has_rank() && declared.rank() == t.rank())
      for (std::size_t a = 0; a < shown.size(); ++a)
        if (const ir::Extent& theirs = declared.extents()[a];
            to_.text(shown[a]).find('?') != std::string::npos && theirs.symbolic() &&
            theirs.symbol.is_of_models())
          shown[a] = theirs;
    return to_.text(shown);
  };
  if (ops::calls_kernel(*first.op)) return {.what = "kernel call: " + name(nodes[0])};
  const auto made = std::ranges::find_if(first.outputs,
                                         [](ValueId v) { return v != ValueId::none; });
  const std::string space = made == first.outputs.end() ? "?" : extents(*made);
  if (ops::reads_buffers(*first.op))
    return {.what = fmt::format("product {}: {}", space, name(nodes[0]))};
  const std::string all = (nodes.size() > 1 ? "fused " : "") + names(nodes);
  if (ops::is_reduction(*first.op))
    return {.what = fmt::format("reduce {} to {}: {}", extents(first.inputs[0]), space, all),
            .folds = true};
  return {.what = fmt::format("for elements {}: {}", space, all)};
}

void ScheduleNotes::note_places(std::span<const std::pair<ValueId, std::string>> places) {
  std::vector<std::pair<std::string, std::string>> lines;  // place, values
  for (const auto& [v, place] : places) {
    const ir::ValueInfo& info = g_.value(v);
    // What has no name in the model is named by the op that makes it.
    if (info.name.empty() && info.producer == NodeId::none) continue;
    const std::string shown = info.name.empty() ? std::string(g_.node(info.producer).op->name)
                                                : fmt::format("'{}'", info.name);
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
