#include "lowering/written_storage.h"

#include "ops/meaning.h"

namespace rondel::lowering {

using ir::LoopParts;
using ir::NodeId;
using ir::ValueId;

bool WrittenStorage::is_stored(const Group& group, ValueId result) const {
  const ir::Node& node = t_.graph().node(group.nodes[0]);
  return ops::writes_buffers(*node.op) || node.is_loop() || !t_.is_one_element(result);
}

const std::map<StorageId, ValueId>& WrittenStorage::in_trips(NodeId n) {
  const auto [at, is_new] = of_loops_.try_emplace(n);
  if (!is_new) return at->second;
  Written written;
  const LoopParts parts(t_.graph().node(n));
  const ir::Region& body = t_.graph().region(parts.body);
  add_region(written, parts.body);
  for (const ValueId v : body.params) add(written, v, plan_.copy(v));
  add_results_aside(written, parts.body);
  for (std::size_t s = 0; s < parts.states; ++s)
    if (body.results[1 + s] != body.params[2 + s] && !t_.is_one_element(body.params[2 + s]))
      add(written, body.results[1 + s], plan_.state(n, s));
  return of_loops_[n] = std::move(written);
}

void WrittenStorage::add(Written& written, ValueId v, std::optional<StorageId> to) const {
  if (to) written.emplace(*to, v);
}

void WrittenStorage::add_region(Written& written, ir::RegionId r) {
  for (const Group& group : t_.groups(r)) {
    const ir::Node& node = t_.graph().node(group.nodes[0]);
    if (node.is_loop()) add_loop(written, group.nodes[0]);
    for (const ValueId v : group.outputs)
      if (is_stored(group, v)) add(written, v, plan_.storage_of(v));
    if (node.is_loop()) continue;
    for (const ir::RegionId inner : t_.regions(group.nodes[0])) {
      add_region(written, inner);
      add_results_aside(written, inner);
    }
  }
}

/// Only results that the region makes itself are copied aside. Others have their copy outside.
void WrittenStorage::add_results_aside(Written& written, ir::RegionId r) const {
  for (const ValueId v : t_.graph().region(r).results)
    if (t_.graph().value(v).region == r) add(written, v, plan_.copy(v));
}

/// What a loop writes to as a whole: also its initial states.
void WrittenStorage::add_loop(Written& written, NodeId n) {
  const LoopParts parts(t_.graph().node(n));
  const ir::Region& body = t_.graph().region(parts.body);
  for (const auto& [to, v] : in_trips(n)) add(written, v, to);
  for (std::size_t s = 0; s < parts.states; ++s)
    if (!t_.is_one_element(body.params[2 + s])) add(written, body.params[2 + s], plan_.state(n, s));
}

}  // namespace rondel::lowering
