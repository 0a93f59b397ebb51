#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

void lrn_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  require(!x.has_rank() || x.rank() >= 2, "input 0 is {}; expected [n, channels, spatial...]",
          to_text(x));
  const std::int64_t size = c.attributes().i("size");
  require(size >= 1 && size < std::int64_t{1} << 31, "size is {}; expected 1 or more", size);
  c.output(0, x);
}

std::vector<ir::ValueId> normalized_by_neighbours(ir::Builder& b, const ir::Node& n) {
  const ir::Attributes& a = n.attributes;
  const ir::ValueId x = wide_value(b, n.inputs[0]);
  const DType t = dtype_of(b, x);
  const std::int64_t size = a.i("size");
  const ir::ValueId squares = b("neighbour_sum", {b("mul", {x, x})},
                                {{"after", size / 2}, {"axis", 1}, {"before", (size - 1) / 2}});
  const ir::ValueId factor = b.scalar(t, a.f("alpha", 1e-4) / static_cast<double>(size));
  const ir::ValueId base = b("add", {b("mul", {squares, factor}), b.scalar(t, a.f("bias", 1))});
  const ir::ValueId y = b("div", {x, b("pow", {base, b.scalar(t, a.f("beta", 0.75))})});
  return {as(b, y, dtype_of(b, n.inputs[0]))};
}

const ir::OpEntry lrn{{
    .name = "lrn",
    .doc =
        "y = x / (bias + alpha * the mean of the squares of `size` neighbouring channels) ^ beta",
    .inputs = {{"x"}},
    .attributes = {{"alpha", 1e-4}, {"beta", 0.75}, {"bias", 1.0}},
    .required = {"size"},
    .type = floats_only(lrn_rule),
    .meaning = composite(normalized_by_neighbours),
}};

}  // namespace
}  // namespace rondel::ops
