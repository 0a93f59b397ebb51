#include "frontends/network/layers/quantization.h"

#include "base/error.h"

namespace rondel::network {
namespace {

bool single(const ir::Type& t) {
  for (const ir::Extent& e : t.extents())
    if (!e.known() || e.value != 1) return false;
  return true;
}

/// The axis along which the scale has fewer elements than the input, and the number of the input's
/// elements that share one scale.
ir::Attributes blocks(const ir::Type& x, const ir::Type& scale) {
  std::int64_t axis = x.rank() - 1, size = 1;
  for (std::int64_t a = 0; a < x.rank(); ++a) {
    const ir::Extent &n = x.extent(a), &s = scale.extent(a);
    if (n == s) continue;
    require(n.known() && s.known() && s.value > 0 && n.value % s.value == 0 && size == 1,
            "a scale of {} does not divide {} into blocks along one axis", to_text(scale),
            to_text(x));
    axis = a;
    size = n.value / s.value;
  }
  return {{"axis", axis}, {"block_size", size}};
}

}  // namespace

ir::Attributes granularity(Lowering& l) {
  const ir::Type &x = l.type(l.in(0)), &scale = l.type(l.in(1));
  l.rank(l.in(1));
  if (single(scale)) return {};
  if (scale.rank() > 1 && l.rank(l.in(0)) == scale.rank()) return blocks(x, scale);
  require(l.parameters().has("axis"), "the scale is {}; set the axis that it goes along",
          to_text(scale));
  return {{"axis", l.axis(l.parameters().i("axis"), l.rank(l.in(0)))}};
}

}  // namespace rondel::network
