#include "lowering/checked_memory.h"

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::ValueId;

// Sources.

Source CheckedMemory::source(ValueId v) const {
  const ir::ValueInfo& info = g_.value(v);
  if (!inside_.contains(info.region) || g_.constant(v) != nullptr) return {};
  const bool param = info.producer == NodeId::none;
  const auto at = static_cast<std::size_t>(info.position);
  const NodeId n = param ? g_.region(info.region).parent : info.producer;
  bool stack = false;
  if (g_.node(n).is_loop()) {
    const LoopParts parts(g_.node(n));
    if (param && at >= 2 + parts.states) {
      const auto block = plan_.copy(v);
      return block ? Source{Source::memory, *block, v} : scanned(v);
    }
    const bool state = param ? at >= 2 : at < parts.states;
    if (state && !tree_.is_one_element(v))
      return {Source::memory, plan_.state(n, param ? at - 2 : at), v};
    stack = !param && at >= parts.states && at < parts.states + parts.stacks;
  }
  if (!stack && tree_.is_one_element(v)) return {};  // in a register
  const auto storage = plan_.storage_of(v);
  if (!storage) return {Source::nowhere};
  return {Source::memory, *storage, v};
}

Source CheckedMemory::scanned(ValueId element) const {
  const ir::ValueInfo& info = g_.value(element);
  const NodeId n = g_.region(info.region).parent;
  if (n == tree_.top()) return {};
  const LoopParts parts(g_.node(n));
  const auto scan = static_cast<std::size_t>(info.position) - 2 - parts.states;
  Source from = source(g_.node(n).inputs[parts.scans_at() + scan]);
  from.whole = false;
  return from;
}

// Reads and writes.

Source CheckedMemory::read(ValueId v, Points at) {
  const Source from = source(v);
  read_from(from, v, at);
  return from;
}

void CheckedMemory::read_from(const Source& from, ValueId v, Points at) const {
  if (from.kind == Source::nowhere) fault("'{}' is read, but stored nowhere", name(v));
  if (from.kind == Source::memory) check_held(from.held, from.storage, at);
}

void CheckedMemory::put(ValueId v, StorageId to, Points at) {
  check_writable(v, to, at);
  contents_.write(to, v);
}

void CheckedMemory::extend(ValueId v, ValueId beginning, StorageId id, Points at) {
  check_writable(v, id, at);
  std::set<ValueId> kept;
  for (ValueId b = beginning;; b = beginnings_.at(b)) {
    for (const ValueId other : contents_.names(id))
      if (tree_.type(other) == tree_.type(b)) kept.insert(other);
    if (!beginnings_.contains(b)) break;
  }
  beginnings_[v] = beginning;
  contents_.copy(id, id, v, kept);
}

void CheckedMemory::copy(ValueId v, StorageId to, Points at) {
  const Source from = read(v, at);
  if (from.kind == Source::memory && from.whole) copy_from(from.storage, v, to, at);
  else put(v, to, at);
}

void CheckedMemory::copy_from(StorageId from, ValueId v, StorageId to, Points at) {
  check_writable(v, to, at);
  // What is longer is not copied as a whole.
  std::set<ValueId> whole;
  for (const ValueId other : contents_.names(from))
    if (tree_.type(other) == tree_.type(v)) whole.insert(other);
  contents_.copy(from, to, v, whole);
}

// Checks.

bool CheckedMemory::lives(StorageId id, Points at) const {
  const Storage& s = plan_.all()[id];
  return s.given || (s.lifetime.first <= at.first && at.last <= s.lifetime.last);
}

void CheckedMemory::check_lives(ValueId v, StorageId id, Points at) const {
  const Points life = plan_.all()[id].lifetime;
  if (!lives(id, at))
    fault("'{}' is in storage {} at program points {} to {}, but the storage lives from {} to {}",
          name(v), id, at.first, at.last, life.first, life.last);
}

void CheckedMemory::check_held(ValueId v, StorageId id, Points at) const {
  check_lives(v, id, at);
  if (!contents_.holds(id, v))
    fault("'{}' is read from storage {}, which holds {}", name(v), id, contents_.text(g_, id));
}

void CheckedMemory::check_writable(ValueId v, StorageId to, Points at) const {
  check_lives(v, to, at);
  check_room(v, to);
  if (only_read_.contains(to))
    fault("'{}' is written to storage {}, which may only be read", name(v), to);
}

void CheckedMemory::check_sizes() const {
  for (StorageId id = 0; id < plan_.all().size(); ++id)
    if (!room_.is_known(plan_.all()[id].type))
      fault("the size of storage {} ({}) does not follow from the class", id,
            to_text(plan_.all()[id].type));
}

void CheckedMemory::check_room(ValueId v, StorageId id) const {
  const ir::Type& room = plan_.all()[id].type;
  if (!room_.fits(v, room))
    fault("storage {} ({}) has no room for '{}' ({})", id, to_text(room), name(v),
          to_text(tree_.type(v)));
}

void CheckedMemory::check_exact(ValueId v, StorageId id) const {
  const ir::Type& room = plan_.all()[id].type;
  if (!room_.is_exact(v, room))
    fault("'{}' ({}) is used as a whole, but storage {} is {}", name(v), to_text(tree_.type(v)), id,
          to_text(room));
}

void CheckedMemory::check_row(ValueId v, StorageId id) const {
  const ir::Type& room = plan_.all()[id].type;
  if (!room_.is_row(v, room))
    fault("'{}' ({}) is used as a row, but storage {} is {}", name(v), to_text(tree_.type(v)), id,
          to_text(room));
}

}  // namespace rondel::lowering
