#include "ops/batching.h"
#include "ops/gradients.h"
#include "ops/reductions/arg_extreme.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void write_hardmax(Emitter& e) {
  scalar::Builder& b = e.builder();
  const auto axis = normal_axis(e.attributes().i("axis", -1), e.rank(0));
  std::vector<Ex> others;
  for (std::int64_t k = 0; k < e.rank(0); ++k)
    if (k != axis) others.push_back(e.extent(0, k));
  const Ex n = e.extent(0, axis);
  b.for_all(others, [&](const Indices& outer) {
    const auto at = [&](Ex i) {
      Indices index = outer;
      index.insert(index.begin() + axis, i);
      return index;
    };
    const auto element = [&](Ex i) { return e.load(0, at(i)); };
    const Ex first = arg_extreme(b, n, e.dtype(0), true, false, false, element);
    b.for_each(b.index(0), n, [&](Ex i) { e.store(0, at(i), cast(e.dtype(0), i == first)); });
  });
}

const ir::OpEntry hardmax{{
    .name = "hardmax",
    .doc = "y = 1 at the first greatest element along the axis, 0 elsewhere",
    .inputs = {{"x"}},
    .attributes = {{"axis", -1}},
    .type = floats_only(same_shape_along_axis),
    .meaning = nest(write_hardmax),
    .in_place = {0},
    .batch = along_axis,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
