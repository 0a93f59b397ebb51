#include "base/error.h"
#include "ops/random/random.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// The number of cumulative sums that are not above a random fraction of the last sum. Sums equal
/// to the last one are not counted, so that an index with probability 0 is never drawn.
Ex drawn_index(Emitter& e, std::size_t, const Indices& out) {
  scalar::Builder& b = e.builder();
  const Ex n = e.extent(0, 1);
  b.check(n > b.index(0), "there is nothing to draw from");
  const Ex total = e.load(0, {out[0], n - 1});
  const Ex part = unit_interval(e.dtype(0), element_block(e, 1, out)) * total;
  const auto count = b.for_(b.index(0), n, {b.index(0)},
                            [&](Ex i, std::span<const Ex> passed) -> std::vector<Ex> {
                              const Ex sum = e.load(0, {out[0], i});
                              return {passed[0] + cast(DType::i64, (sum <= part) & (sum < total))};
                            });
  return cast(e.output_dtype(), count[0]);
}

void sampled_index_rule(ir::TypeContext& c) {
  const DType t = dtype_attribute(c.attributes(), "dtype");
  require_tensor(c, 0);
  require_rank(c, 0, 2);
  require_dtype(c, 1, DType::u64);
  const ir::Type& sums = c.input(0);
  c.holds_while();
  c.output(0, ir::Type::tensor(
                  t, {sums.has_rank() ? sums.extent(0) : ir::Extent(), c.attributes().i("count")}));
}

const ir::OpEntry sampled_index{{
    .name = "sampled_index",
    .doc = "y[b] = indices drawn by a key, with the weights whose cumulative sums are sums[b]",
    .inputs = {{"sums"}, {"key"}},
    .required = {"count", "dtype"},
    .type = sampled_index_rule,
    .meaning = elements(drawn_index),
    .can_fail = true,
}};

}  // namespace
}  // namespace rondel::ops
