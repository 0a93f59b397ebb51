#include "lowering/storage_plan.h"

#include "base/axis.h"
#include "base/error.h"
#include "ir/name_of.h"
#include "ops/meaning.h"

#include <algorithm>
#include <set>

namespace rondel::lowering {
namespace {

using ir::LoopParts;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

}  // namespace

StoragePlan::StoragePlan(const RegionTree& tree) : t_(tree) {
  const ir::Node& node = t_.graph().node(t_.top());
  if (node.is_loop()) plan_loop(t_.top(), std::nullopt);
  else plan_results(node);
}

/// Plans the results of the top node, an `if`.
void StoragePlan::plan_results(const ir::Node& node) {
  std::vector<Preference> results;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    const ValueId v = node.outputs[j];
    if (v == ValueId::none || t_.is_one_element(v)) continue;
    storage_of_[v] = add(v, {}, true);
    results.push_back({j, storage_of_[v], ValueId::none});
  }
  for (const RegionId r : t_.regions(t_.top())) plan_branch(t_.top(), r, results);
}

void StoragePlan::plan_branch(NodeId n, RegionId r, const std::vector<Preference>& of_results) {
  plan_region(r, of_results);
  const ir::Node& node = t_.graph().node(n);
  Moves moves;
  for (std::size_t j = 0; j < node.outputs.size(); ++j) {
    const ValueId v = t_.graph().region(r).results[j];
    const auto to = node.outputs[j] == ValueId::none ? std::nullopt : storage_of(node.outputs[j]);
    if (to && storage_of(v) != to) moves.emplace_back(v, *to);
  }
  plan_moves(moves, r);
}

StorageId StoragePlan::add(ValueId v, scalar::Buffer::Lifetime lifetime, bool given) {
  storages_.push_back({t_.memory_type(v), given, !t_.extents_known(v), lifetime});
  return storages_.size() - 1;
}

// Assignment of storage.

/// `at` is nullopt for the top node, whose states are in the caller's memory.
void StoragePlan::plan_loop(NodeId n, std::optional<Position> at) {
  const ir::Node& node = t_.graph().node(n);
  const LoopParts parts(node);
  const ir::Region& body = t_.graph().region(parts.body);
  std::vector<Preference> preferences;
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ValueId param = body.params[2 + s], final = node.outputs[s];
    if (t_.is_one_element(param)) continue;
    if (!at) {
      states_[{n, s}] = add(param, {}, true);
    } else if (final != ValueId::none && storage_of_.contains(final)) {
      states_[{n, s}] = storage_of_[final];
    } else {
      states_[{n, s}] = add(param, {t_.begins(*at), t_.ends(*at)});
    }
    storage_of_[param] = states_[{n, s}];
    if (body.results[1 + s] != param) preferences.push_back({1 + s, storage_of_[param], param});
  }
  plan_region(parts.body, preferences);
  plan_copies(n);
}

void StoragePlan::plan_region(RegionId r, const std::vector<Preference>& of_results) {
  Preferences preferences;
  for (const Preference& w : of_results)
    prefer(preferences, t_.graph().region(r).results[w.result], r, w);
  const auto& groups = t_.groups(r);
  for (std::size_t i = 0; i < groups.size(); ++i) plan_group(groups[i], {r, i}, preferences);
}

/// Prefers the same storage for a value and, recursively, for the values that it may be written
/// over.
void StoragePlan::prefer(Preferences& preferences, ValueId v, RegionId r, const Preference& w) {
  const auto made = t_.maker(v);
  if (!made || made->region != r || !preferences.emplace(v, w).second) return;
  for (const ValueId from : t_.groups(r)[made->index].inputs)
    if (t_.graph().value(from).region == r && t_.memory_type(from) == storages_[w.target].type &&
        may_overwrite(from, *made, v))
      prefer(preferences, from, r, w);
}

void StoragePlan::plan_group(const Group& group, Position at, Preferences& preferences) {
  const ir::Node& node = t_.graph().node(group.nodes[0]);
  std::vector<Preference> of_branches;
  for (const ValueId v : group.outputs) {
    if (!in_memory(v, at)) continue;
    const bool followed = assign(v, at, preferences);
    const auto output = static_cast<std::size_t>(std::ranges::find(node.outputs, v) -
                                                 node.outputs.begin());
    of_branches.push_back(
        {output, storage_of_.at(v), followed ? preferences.at(v).old : ValueId::none});
    for (auto& [_, other] : preferences)
      if (other.target == storage_of_.at(v)) other.old = v;  // the value held from now on
  }
  if (node.regions.empty()) return;
  if (node.is_loop()) return plan_loop(group.nodes[0], at);
  for (const RegionId r : t_.regions(group.nodes[0])) plan_branch(group.nodes[0], r, of_branches);
}

bool StoragePlan::in_memory(ValueId v, Position made) const {
  const Group& group = t_.groups(made.region)[made.index];
  const ir::Node& node = t_.graph().node(group.nodes[0]);
  if (!node.regions.empty() && t_.reads(v).empty()) return false;
  if (node.is_loop()) {
    const LoopParts parts(node);
    const auto output = static_cast<std::size_t>(std::ranges::find(node.outputs, v) -
                                                 node.outputs.begin());
    if (output == parts.states + parts.stacks) return false;  // the number of trips
    if (output >= parts.states) return true;                  // a stack
  }
  if (ops::writes_buffers(*node.op)) return true;
  return !t_.is_one_element(v) && !only_item(v, made);
}

/// Whether the value is computed element by element in a loop's body, and only its group and the
/// loop's stacks read it.
bool StoragePlan::only_item(ValueId v, Position made) const {
  const Group& group = t_.groups(made.region)[made.index];
  if (!group.program || !t_.is_loop_body(made.region)) return false;
  if (group.by_rows && t_.rows(group).needs_memory(v)) return false;
  const ir::Node& loop = t_.graph().node(t_.graph().region(made.region).parent);
  const std::size_t first_item = 1 + LoopParts(loop).states;
  return std::ranges::all_of(t_.reads(v), [&](const Read& read) {
    if (read.node != NodeId::none) return read.at == made;
    return read.at.region == made.region && read.number >= first_item;
  });
}

/// Returns whether the value got the preferred storage.
bool StoragePlan::assign(ValueId v, Position made, const Preferences& preferences) {
  const auto preferred = preferences.find(v);
  const bool followed = preferred != preferences.end() && has_room(preferred->second.target, v) &&
                        may_overwrite(preferred->second.old, made, v);
  if (preferred != preferences.end() && !followed && has_room(preferred->second.target, v))
    apart_.emplace(v, read_later(preferred->second.old, made, v));
  storage_of_[v] = followed ? preferred->second.target : add(v, {t_.begins(made), t_.ends(made)});
  extend_lifetime(storage_of_[v], v, made);
  if (const ValueId left = left_by(made);
      left != ValueId::none && storage_of(left) == storage_of_[v])
    in_place_of_[v] = left;
  return followed;
}

/// Of a value that may not be written over, and those in the same place, the one that is read
/// later.
ValueId StoragePlan::read_later(ValueId old, Position writer, ValueId by) const {
  for (auto at = in_place_of_.find(old);
       at != in_place_of_.end() && !may_overwrite(at->second, writer, by);
       at = in_place_of_.find(old))
    old = at->second;
  return old;
}

/// Whether a storage that v is to be handed on to has room for v. The storage of a state or of a
/// result has, whatever bounds v alone; where it is larger, v must be known not to fill it.
bool StoragePlan::has_room(StorageId id, ValueId v) const {
  const Storage& s = storages_[id];
  const ir::Type needed = t_.memory_type(v);
  return s.type == needed || (s.bounded && !t_.extents_known(v) &&
                              s.type.dtype() == needed.dtype() && s.type.rank() == needed.rank());
}

void StoragePlan::extend_lifetime(StorageId id, ValueId v, Position made) {
  scalar::Buffer::Lifetime& life = storages_[id].lifetime;
  life.first = std::min(life.first, t_.begins(made));
  life.last = std::max({life.last, t_.ends(made), last_read(v, made.region)});
}

/// The last program point at which the value is live. A value that a loop reads from outside is
/// live until the end of the loop.
std::int32_t StoragePlan::last_read(ValueId v, RegionId defined) const {
  std::int32_t last = 0;
  for (const Read& read : t_.reads(v)) {
    last = std::max(last, t_.ends(read.at));
    for (RegionId r = read.at.region; r != defined;) {
      const auto holder = t_.holder(r);
      if (!holder) break;
      if (t_.is_loop_body(r)) last = std::max(last, t_.ends(*holder));
      r = holder->region;
    }
  }
  return last;
}

// What may be overwritten.

/// Whether `by`, which `writer` computes, may be written over `old`: nothing reads `old` after the
/// first element of `by` is written, except an op that reads each element before it writes it.
bool StoragePlan::may_overwrite(ValueId old, Position writer, ValueId by) const {
  if (old == ValueId::none) return true;
  if (t_.beginning_in(t_.groups(writer.region)[writer.index]) == old)
    return true;  // writes nothing
  if (const auto at = in_place_of_.find(old);
      at != in_place_of_.end() && !may_overwrite(at->second, writer, by))
    return false;
  const RegionId defined = t_.graph().value(old).region;
  const auto path_of = [&](Position p) {  // from `defined` inwards
    std::vector<Position> path{p};
    while (path.back().region != defined) path.push_back(*t_.holder(path.back().region));
    std::ranges::reverse(path);
    return path;
  };
  const std::vector<Position> writes = path_of(writer);
  const bool repeated = std::any_of(writes.begin() + 1, writes.end(),
                                    [&](const Position& p) { return t_.is_loop_body(p.region); });
  if (repeated) return false;
  if (left_by(writer) == old) return true;
  const Group& group = t_.groups(writer.region)[writer.index];
  const bool control = !t_.graph().node(group.nodes[0]).regions.empty();
  return std::ranges::all_of(t_.reads(old), [&](const Read& read) {
    if (handed_on_unchanged(old, read, by)) return true;
    const std::vector<Position> reads = path_of(read.at);
    std::size_t i = 0;
    while (i < writes.size() && i < reads.size() && writes[i] == reads[i]) ++i;
    if (i < writes.size() && i < reads.size())
      // Only one branch of an `if` runs.
      return writes[i].region != reads[i].region || writes[i].index > reads[i].index;
    if (i == reads.size() && i < writes.size()) return true;  // the condition of an `if` around
    if (i < reads.size()) {                                   // inside the node that writes
      const bool loop = t_.is_loop_body(reads[i].region);
      const bool at_end = read.node == NodeId::none && i + 1 == reads.size();
      return !loop && !at_end;  // the plan of a branch checks its own reads, except of its results
    }
    if (control || read.node == NodeId::none) return false;
    if (group.by_rows)
      return t_.rows(group).may_write_over(t_.graph(), by, old) &&
             t_.rows(group).space == t_.type(old).extents();
    const ir::Node& reader = t_.graph().node(read.node);
    return ops::may_write_over(*reader.op, read.number) &&
           t_.type(reader.outputs[0]).extents() == t_.type(old).extents();
  });
}

/// The value that the writer leaves as it is where its result is in the same storage: it extends
/// the value, or gives its beginning.
ValueId StoragePlan::left_by(Position writer) const {
  const Group& group = t_.groups(writer.region)[writer.index];
  const ir::Node& node = t_.graph().node(group.nodes[0]);
  return node.op->extends ? node.inputs[*node.op->extends] : t_.beginning_in(group);
}

/// Whether the reader forwards `old` as `by` itself: a branch's result that becomes the output of
/// the `if`, or an initial state that becomes the final state.
bool StoragePlan::handed_on_unchanged(ValueId old, const Read& read, ValueId by) const {
  const ir::Graph& g = t_.graph();
  const auto is_output = [&](const ir::Node& node, std::size_t j) {
    return j < node.outputs.size() && node.outputs[j] == by;
  };
  if (read.node == NodeId::none) {
    if (t_.is_loop_body(read.at.region)) return false;
    return is_output(g.node(g.region(read.at.region).parent), read.number);
  }
  const ir::Node& node = g.node(read.node);
  if (!node.is_loop()) return false;
  const LoopParts parts(node);
  if (read.number < parts.states_at() || read.number >= parts.scans_at()) return false;
  return node.inputs[read.number] == old && is_output(node, read.number - parts.states_at());
}

/// Plans copies: of next states that lie where other ones are moved to, and of elements of scans
/// that are not contiguous but read by an op that needs a buffer.
void StoragePlan::plan_copies(NodeId n) {
  const ir::Node& node = t_.graph().node(n);
  const LoopParts parts(node);
  const ir::Region& body = t_.graph().region(parts.body);
  Moves moves;
  for (std::size_t s = 0; s < parts.states; ++s) {
    const ValueId next = body.results[1 + s], param = body.params[2 + s];
    if (next != param && !t_.is_one_element(param) && storage_of(next) != storage_of(param))
      moves.emplace_back(next, states_.at({n, s}));
  }
  plan_moves(moves, parts.body);
  for (std::size_t s = 0; s < parts.scans; ++s)
    if (const ValueId element = body.params[2 + parts.states + s];
        needs_buffer(element) && !is_row(element))
      copies_[element] = add(element, {t_.begins({parts.body, 0}), last_read(element, parts.body)});
}

void StoragePlan::plan_moves(const Moves& moves, RegionId r) {
  const Position end{r, t_.groups(r).size()};
  std::set<StorageId> overwritten;
  for (const auto& [_, to] : moves) overwritten.insert(to);
  for (const auto& [v, _] : moves) {
    const std::optional<StorageId> from = storage_of(v);
    if (from && overwritten.contains(*from) && t_.graph().value(v).region == r &&
        !copies_.contains(v))
      copies_[v] = add(v, {t_.begins(end), t_.ends(end)});
  }
}

/// Whether an op needs the element of a scan in a buffer.
bool StoragePlan::needs_buffer(ValueId element) const {
  return !t_.is_one_element(element) &&
         std::ranges::any_of(t_.reads(element), [&](const Read& read) {
           return read.node != NodeId::none && ops::reads_buffers(*t_.graph().node(read.node).op);
         });
}

/// Whether the element of a scan is part of a buffer: a row of a scan that lies in one.
bool StoragePlan::is_row(ValueId element) const {
  const NodeId loop = t_.graph().region(t_.graph().value(element).region).parent;
  const LoopParts parts(t_.graph().node(loop));
  const std::size_t s = *scan_of(element);
  const ValueId scanned = t_.graph().node(loop).inputs[parts.scans_at() + s];
  return axis_from_front(parts.axis_in[s], t_.type(element).rank() + 1) == 0 &&
         t_.begins_with_buffer(scanned) &&
         (loop == t_.top() || !scan_of(scanned) || needs_buffer(scanned) || is_row(scanned));
}

/// Which scan of its loop a value is an element of; nullopt if it is none, or comes from outside.
std::optional<std::size_t> StoragePlan::scan_of(ValueId v) const {
  const ir::Region& r = t_.graph().region(t_.graph().value(v).region);
  if (r.parent == NodeId::none || !t_.is_loop_body(t_.graph().value(v).region) ||
      std::ranges::count(t_.captures(), v) > 0)
    return std::nullopt;
  const LoopParts parts(t_.graph().node(r.parent));
  const auto elements = std::span(r.params).subspan(2 + parts.states);
  const auto at = std::ranges::find(elements, v);
  if (at == elements.end()) return std::nullopt;
  return static_cast<std::size_t>(at - elements.begin());
}

std::optional<StorageId> StoragePlan::storage_of(ValueId v) const {
  const auto it = storage_of_.find(v);
  return it == storage_of_.end() ? std::nullopt : std::optional(it->second);
}

std::string StoragePlan::why_apart(ValueId v) const {
  const auto at = apart_.find(v);
  if (at == apart_.end() || at->second == ValueId::none) return "";
  return fmt::format("because {} is still read when it is made",
                     ir::name_of(t_.graph(), at->second));
}

std::optional<StorageId> StoragePlan::copy(ValueId v) const {
  const auto it = copies_.find(v);
  return it == copies_.end() ? std::nullopt : std::optional(it->second);
}

}  // namespace rondel::lowering
