#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

std::vector<ValueId> normalized(ir::Builder& b, const ir::Node& node) {
  const ir::Type& type = b.graph().value(node.inputs[0]).type;
  if (!type.has_rank()) unsupported("instance normalization of a tensor of unknown rank");
  ir::Ints spatial, after_channel;
  for (std::int64_t a = 2; a < type.rank(); ++a) {
    spatial.push_back(a);
    after_channel.push_back(a - 1);
  }
  const DType own = type.dtype(), t = scalar::compute_type(own);
  const auto channel = [&](std::size_t k) {
    return b("unsqueeze", {as(b, node.inputs[k], t), b.integers(after_channel)});
  };
  const ValueId x = as(b, node.inputs[0], t);
  const ValueId d = b("sub", {x, reduce_kept(b, "reduce_mean", x, spatial)});
  const ValueId variance = reduce_kept(b, "reduce_mean", b("mul", {d, d}), spatial);
  const ValueId epsilon = b.scalar(t, node.attributes.f("epsilon", 0));
  const ValueId deviation = b("sqrt", {b("add", {variance, epsilon})});
  const ValueId scaled = b("mul", {b("div", {d, deviation}), channel(1)});
  return {as(b, b("add", {scaled, channel(2)}), own)};
}

void instance_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require(!x.has_rank() || x.rank() >= 3, "input 0 is {}; expected [n, channels, spatial...]",
          to_text(x));
  for (std::size_t k : {1U, 2U}) {
    require_rank(c, k, 1);
    if (!x.has_rank() || !c.input(k).has_rank()) continue;
    const std::int64_t n = c.input(k).extent(0).value, channels = x.extent(1).value;
    require(n < 0 || channels < 0 || n == channels, "input {} has {} elements for {} channels", k,
            n, channels);
  }
  c.output(0, x);
}

const ir::OpEntry instance_normalization{{
    .name = "instance_normalization",
    .doc = "y = (x - mean) / deviation * scale + bias, each channel of each sample by itself",
    .inputs = {{"x"}, {"scale"}, {"bias"}},
    .attributes = {{"epsilon", 1e-5F}},
    .type = floats_only(instance_rule),
    .meaning = composite(normalized),
}};

}  // namespace
}  // namespace rondel::ops
