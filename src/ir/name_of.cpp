#include "ir/name_of.h"

#include "ir/infer.h"

#include <fmt/format.h>

namespace rondel::ir {

std::string name_of(const Graph& g, ValueId v) {
  const ValueInfo& info = g.value(v);
  if (const Tensor* t = g.constant(v); t != nullptr && t->size() == 1 && is_integer(t->dtype()))
    return std::to_string(integers_of(*t)[0]);
  if (!info.name.empty()) return fmt::format("'{}'", info.name);
  if (info.producer != NodeId::none) return "what " + where(g, info.producer) + " makes";
  return "a value of " + where(g, g.region(info.region).parent);
}

}  // namespace rondel::ir
