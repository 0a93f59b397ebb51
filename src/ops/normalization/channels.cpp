#include "ops/normalization/channels.h"

#include "base/error.h"
#include "ops/compose.h"

#include <limits>

namespace rondel::ops {
namespace {

constexpr std::int64_t to_the_end = std::numeric_limits<std::int64_t>::max();

}  // namespace

void require_channel_lists(const ir::TypeContext& c, Conditions& conditions) {
  const ir::Type& x = c.input(0);
  for (std::size_t k = 1; k < c.input_count(); ++k) {
    require_rank(c, k, 1);
    if (!x.has_rank() || !c.input(k).has_rank()) {
      conditions.unknown();
      continue;
    }
    const ir::Extent elements = c.input(k).extent(0);
    const ir::Extent channels = x.rank() < 2 ? ir::Extent(1) : x.extent(1);
    conditions.equal(elements, channels);
    require(!elements.known() || !channels.known() || elements.value == channels.value,
            "input {} has {} elements for {} channels", k, elements.value, channels.value);
  }
}

ir::ValueId with_known_rank(ir::Builder& b, ir::ValueId x) {
  if (b.graph().value(x).type.has_rank()) return x;
  const ir::ValueId extents = b("concat", {b("shape", {x}), b.integers({1, 1})}, {{"axis", 0}});
  const ir::ValueId leading = b("gather", {extents, b.integers({0, 1})});
  const ir::ValueId others = b("slice", {extents, b.integers({2}), b.integers({to_the_end})});
  const ir::ValueId spatial = reduce_kept(b, "reduce_prod", others, {0});
  const ir::ValueId shape = b("concat", {leading, spatial}, {{"axis", 0}});
  return b("reshape", {x, shape}, {{"allowzero", 1}});
}

}  // namespace rondel::ops
