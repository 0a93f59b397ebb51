#include "ops/channels.h"

#include "base/error.h"

namespace rondel::ops {

void require_channel_lists(const ir::TypeContext& c, Conditions& conditions) {
  const ir::Type& x = c.input(0);
  for (std::size_t k = 1; k < c.input_count(); ++k) {
    require_rank(c, k, 1);
    if (!x.has_rank() || x.rank() < 2 || !c.input(k).has_rank()) {
      conditions.unknown();
      continue;
    }
    conditions.equal(c.input(k).extent(0), x.extent(1));
    const std::int64_t n = c.input(k).extent(0).value, channels = x.extent(1).value;
    require(n < 0 || channels < 0 || n == channels, "input {} has {} elements for {} channels", k,
            n, channels);
  }
}

}  // namespace rondel::ops
