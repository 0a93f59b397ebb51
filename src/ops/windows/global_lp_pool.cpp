#include "base/error.h"
#include "ops/compose.h"
#include "ops/windows/pooling.h"

namespace rondel::ops {
namespace {

ir::OpDef global_lp_pool_op() {
  ir::OpDef op = global_pool("global_lp_pool", "y = the norm of order p of each channel", "");
  op.attributes = {{"p", 2}};
  op.type = [rule = op.type](ir::TypeContext& c) {
    require(c.attributes().i("p") >= 1, "p is {}; expected 1 or more", c.attributes().i("p"));
    rule(c);
  };
  op.meaning = composite(
      [](ir::Builder& b, const ir::Node& n) -> std::vector<ir::ValueId> {
        const ir::Type type = b.graph().value(n.inputs[0]).type;
        if (!type.has_rank()) unsupported("pooling of a tensor of unknown rank");
        const ir::ValueId x = wide_value(b, n.inputs[0]);
        const DType t = dtype_of(b, x);
        const std::int64_t p = n.attributes.i("p");
        ir::Ints axes;
        for (std::int64_t a = 2; a < type.rank(); ++a) axes.push_back(a);
        if (axes.empty()) return {b("abs", {n.inputs[0]})};
        if (p <= 2)
          return {as(b, reduce_kept(b, p == 1 ? "reduce_l1" : "reduce_l2", x, axes), type.dtype())};
        const ir::ValueId powers = b("pow", {b("abs", {x}), b.scalar(t, static_cast<double>(p))});
        const ir::ValueId sums = reduce_kept(b, "reduce_sum", powers, axes);
        return {as(b, root_of_sums(b, sums, p), type.dtype())};
      },
      {0});
  return op;
}

const ir::OpEntry global_lp_pool{global_lp_pool_op()};

}  // namespace
}  // namespace rondel::ops
