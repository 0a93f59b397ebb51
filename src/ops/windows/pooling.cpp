#include "ops/windows/pooling.h"

#include "base/error.h"
#include "ops/compose.h"
#include "ops/type_rules.h"
#include "ops/windows/windows.h"

namespace rondel::ops {

kernels::PoolSpec pool_spec(const ir::Attributes& a) {
  return {window_spec(a), a.i("storage_order", 0) == 1, a.flag("count_include_pad")};
}

void pool_rule(ir::TypeContext& c) {
  const ir::Type& x = c.input(0);
  const kernels::PoolSpec spec = pool_spec(c.attributes());
  check(spec.window, spec.window.kernel.size());
  const auto rank = static_cast<std::int64_t>(spec.window.kernel.size()) + 2;
  require_rank(c, 0, rank);
  ir::Extents out{ir::Extent(), ir::Extent()};
  ir::Integers rooms;
  for (std::int64_t a = 0; a < rank; ++a) {
    const ir::Extent extent = x.has_rank() ? x.extent(a) : ir::Extent();
    if (a < 2) {
      out[static_cast<std::size_t>(a)] = extent;
      continue;
    }
    const auto axis = static_cast<std::size_t>(a - 2);
    out.push_back(window_extent(spec.window, axis, extent, spec.window.kernel[axis]));
    rooms.push_back(window_room(spec.window, axis, extent, spec.window.kernel[axis]));
  }
  c.holds_while(rooms);
  for (std::size_t j = 0; j < c.output_count(); ++j)
    c.output(j, ir::Type::tensor(j == 0 ? x.dtype() : DType::i64, out));
}

ir::Attributes pool_attributes() {
  return {{"auto_pad", "NOTSET"},
          {"ceil_mode", 0},
          {"dilations", ir::Ints{}},
          {"pads", ir::Ints{}},
          {"strides", ir::Ints{}}};
}

ir::OpDef global_pool(std::string_view name, std::string_view doc, std::string_view reduction) {
  ir::OpDef op;
  op.name = name;
  op.doc = doc;
  op.inputs = {{"x"}};
  op.type = floats_only([](ir::TypeContext& c) {
    const ir::Type& x = c.input(0);
    if (!x.has_rank()) return c.output(0, x);
    require(x.rank() >= 2, "input 0 is {}; expected [n, channels, spatial...]", to_text(x));
    ir::Extents out(static_cast<std::size_t>(x.rank()), ir::Extent(1));
    out[0] = x.extent(0);
    out[1] = x.extent(1);
    c.output(0, ir::Type::tensor(x.dtype(), std::move(out)));
  });
  op.meaning = composite(
      [reduction](ir::Builder& b, const ir::Node& node) {
        const ir::Type& x = b.graph().value(node.inputs[0]).type;
        if (!x.has_rank()) unsupported("pooling of a tensor of unknown rank");
        ir::Ints axes;
        for (std::int64_t a = 2; a < x.rank(); ++a) axes.push_back(a);
        if (axes.empty()) return std::vector<ir::ValueId>{node.inputs[0]};
        return std::vector<ir::ValueId>{reduce_kept(b, reduction, node.inputs[0], axes)};
      },
      {0});
  return op;
}

ir::ValueId root_of_sums(ir::Builder& b, ir::ValueId sums, std::int64_t p) {
  if (p == 1) return sums;
  // The root is taken of 1 where the sum is 0, because its derivative at 0 is infinite.
  const DType t = dtype_of(b, sums);
  const ir::ValueId zero = b.scalar(t, 0), is_zero = b("equal", {sums, zero});
  const ir::ValueId base = b("where", {is_zero, b.scalar(t, 1), sums});
  const ir::ValueId root = p == 2 ? b("sqrt", {base})
                                  : b("pow", {base, b.scalar(t, 1 / static_cast<double>(p))});
  return b("where", {is_zero, zero, root});
}

}  // namespace rondel::ops
