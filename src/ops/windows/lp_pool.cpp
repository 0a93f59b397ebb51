#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"
#include "ops/windows/pooling.h"
#include "ops/windows/window_gradients.h"

namespace rondel::ops {
namespace {

using ir::ValueId;

void lp_pool_rule(ir::TypeContext& c) {
  require(c.attributes().i("p") >= 1, "p is {}; expected 1 or more", c.attributes().i("p"));
  pool_rule(c);
}

/// The sums under the windows, as averages times the numbers of elements; padding is zeros.
ValueId sums_under_windows(ir::Builder& b, const ir::Node& node, ValueId x) {
  ir::Attributes attributes = node.attributes;
  attributes.erase("p");
  attributes.set("count_include_pad", std::int64_t{1});
  const ValueId mean = b("average_pool", {x}, std::move(attributes));
  const ir::Node averaged = b.graph().node(b.graph().value(mean).producer);
  return b("mul", {mean, counted_under_windows(b, averaged, mean)});
}

std::vector<ValueId> norms_under_windows(ir::Builder& b, const ir::Node& node) {
  const ValueId x = wide_value(b, node.inputs[0]);
  const DType t = dtype_of(b, x);
  const std::int64_t p = node.attributes.i("p");
  const ValueId size = b("abs", {x});
  const ValueId powers = p == 1   ? size
                         : p == 2 ? b("mul", {x, x})
                                  : b("pow", {size, b.scalar(t, static_cast<double>(p))});
  const ValueId y = root_of_sums(b, sums_under_windows(b, node, powers), p);
  return {as(b, y, dtype_of(b, node.inputs[0]))};
}

ir::Attributes lp_pool_attributes() {
  ir::Attributes a = pool_attributes();
  a.set("p", std::int64_t{2});
  return a;
}

const ir::OpEntry lp_pool{{
    .name = "lp_pool",
    .doc = "y = the norm of order p of the elements under each window",
    .inputs = {{"x"}},
    .attributes = lp_pool_attributes(),
    .required = {"kernel_shape"},
    .type = floats_only(lp_pool_rule),
    .meaning = composite(norms_under_windows),
}};

}  // namespace
}  // namespace rondel::ops
