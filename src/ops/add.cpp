#include "ops/meaning.h"
#include "ops/type_rules.h"

#include <algorithm>
#include <limits>

namespace rondel::ops {
namespace {

/// Where one is 0 the sum is the other, whatever that is.
ir::Extent sum_of(const ir::Extent& a, const ir::Extent& b) {
  if (a.known() && a.value == 0) return b;
  if (b.known() && b.value == 0) return a;
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  if (!a.known() || !b.known() || a.value > most - b.value) return {};
  return a.value + b.value;
}

void add_rule(ir::TypeContext& c) {
  broadcast_rule(c);
  if (!holds_extents(c.input(0).dtype())) return;
  const auto a = c.elements(0), b = c.elements(1);
  if (!a || !b || a->empty() || b->empty()) return;
  const std::size_t count = std::max(a->size(), b->size());
  if (std::min(a->size(), b->size()) != count && std::min(a->size(), b->size()) != 1) return;
  ir::Extents sums;
  for (std::size_t i = 0; i < count; ++i)
    sums.push_back(sum_of(a->at(a->size() == 1 ? 0 : i), b->at(b->size() == 1 ? 0 : i)));
  c.set_elements(0, std::move(sums));
}

const ir::OpEntry add{{
    .name = "add",
    .doc = "c = a + b, broadcast; integers wrap",
    .inputs = {{"a"}, {"b"}},
    .outputs = {"c"},
    .type = numbers_only(add_rule),
    .meaning = elementwise([](Ex a, Ex b) { return a + b; }),
}};

}  // namespace
}  // namespace rondel::ops
