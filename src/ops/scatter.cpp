#include "ops/scatter.h"

#include "base/error.h"

namespace rondel::ops {

void copy_to_output(Emitter& e) {
  if (e.in_place(0, 0)) return;
  e.builder().for_all(extents_of(e, 0), [&](const Indices& i) { e.store(0, i, e.load(0, i)); });
}

void put_update(Emitter& e, const Indices& at, Ex update) {
  const std::string how = e.attributes().s("reduction", "none");
  if (how == "none") return e.store(0, at, update);
  const BufferPart to = e.output_buffer(0);
  Indices index = to.leading;
  index.insert(index.end(), at.begin(), at.end());
  const Ex old = e.builder().load(to.buffer, index);
  if (how == "add") e.store(0, at, old + update);
  if (how == "mul") e.store(0, at, old * update);
  if (how == "min") e.store(0, at, scalar::min(old, update));
  if (how == "max") e.store(0, at, scalar::max(old, update));
}

void require_reduction(const ir::TypeContext& c) {
  const std::string how = c.attributes().s("reduction", "none");
  require(how == "none" || how == "add" || how == "mul" || how == "min" || how == "max",
          "reduction is '{}'; expected none, add, mul, min or max", how);
}

bool adds_updates(const ir::Node& node) {
  const std::string how = node.attributes.s("reduction", "none");
  if (how != "none" && how != "add")
    unsupported("the gradient of a scatter with reduction '{}'", how);
  return how == "add";
}

}  // namespace rondel::ops
