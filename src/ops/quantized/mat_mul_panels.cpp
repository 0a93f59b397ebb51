#include "base/error.h"
#include "kernels/integer_product.h"
#include "ops/quantized/packed_operands.h"
#include "ops/quantized/quantization.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

/// Zero points have one element, or are checked by the rule of mat_mul_integer, whose node became
/// this one.
void mat_mul_panels_rule(ir::TypeContext& c) {
  require_dtypes(c, 0, byte_dtypes());
  require_dtype(c, 1, DType::i32);
  if (c.has(2)) require_same_dtype(c, 0, 2);
  if (c.has(3)) require_dtype(c, 3, c.attributes().flag("signed") ? DType::i8 : DType::u8);
  const ir::Type &a = c.input(0), &panels = c.input(1);
  if (!a.has_rank() || !panels.has_rank()) return c.output(0, ir::Type::unranked(DType::i32));
  require(a.rank() >= 2, "a is {}; expected matrices", to_text(a));
  require(panels.rank() >= 3, "b is {}; expected panels", to_text(panels));
  const std::int64_t depth = c.attributes().i("depth"), columns = c.attributes().i("columns");
  const ir::Extent& summed = a.extent(a.rank() - 1);
  require(!summed.known() || summed.value == depth, "inner extents {} and {} differ", summed.value,
          depth);
  const auto leading = [](const ir::Type& t, std::int64_t inner) {
    const ir::Extents& all = t.extents();
    return ir::Type::tensor(DType::i32, ir::Extents(all.begin(), all.end() - inner));
  };
  const ir::Type left = leading(a, 2), right = leading(panels, 3);
  const ir::Extents inner(panels.extents().end() - 3, panels.extents().end());
  require(inner == panel_extents(depth, columns), "panels are {}; expected those of [{}, {}]",
          to_text(panels), depth, columns);
  const ir::Type* both[] = {&left, &right};
  ir::Extents out = *broadcast_extents(left.extents(), right.extents());
  Conditions conditions;
  conditions.equal(summed, depth);
  conditions.broadcasts(both, out);
  conditions.state(c);
  out.insert(out.end(), {a.extent(a.rank() - 2), columns});
  c.output(0, ir::Type::tensor(DType::i32, std::move(out)));
}

SizedKernelMeaning::Kernel prepare_mat_mul_panels(const ir::Node& node,
                                                  std::span<const ir::Type> inputs) {
  kernels::IntegerProduct spec{};
  spec.is_signed = {inputs[0].dtype() == DType::i8, node.attributes.flag("signed")};
  spec.packed_columns = node.attributes.i("columns");
  for (std::size_t k = 0; k < spec.rank.size(); ++k)
    spec.rank[k] = has_input(node, k) ? static_cast<std::size_t>(inputs[k].rank()) : 0;
  return kernels::fast_integer_product(spec);
}

const ir::OpEntry mat_mul_panels{{
    .name = "mat_mul_panels",
    .doc = "y = mat_mul_integer of a and matrices b [depth, columns] that pack_panels has packed",
    .inputs = {{"a"},
               {"panels"},
               {"a_zero_point", ir::InputDef::optional},
               {"b_zero_point", ir::InputDef::optional}},
    .attributes = {{"signed", 0}},
    .required = {"depth", "columns"},
    .type = mat_mul_panels_rule,
    .meaning = kernel(prepare_mat_mul_panels),
}};

}  // namespace
}  // namespace rondel::ops
