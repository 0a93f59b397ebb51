#include "ops/images/roi_gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

ir::Ints pooled_shape(const ir::Attributes& a) {
  const ir::Ints shape = a.ints("pooled_shape");
  require(shape.size() == 2, "pooled_shape has {} numbers; expected 2", shape.size());
  for (const std::int64_t n : shape)
    require(n >= 1 && n < std::int64_t{1} << 31, "pooled_shape has {}; expected 1 or more", n);
  return shape;
}

void max_roi_pool_rule(ir::TypeContext& c) {
  for (const std::size_t k : {0U, 1U}) require_dtypes(c, k, float_dtypes());
  require_same_dtype(c, 0, 1);
  require_rank(c, 0, 4);
  require_rank(c, 1, 2);
  const ir::Ints shape = pooled_shape(c.attributes());
  const ir::Type &x = c.input(0), &rois = c.input(1);
  if (rois.has_rank() && rois.extent(1).known())
    require(rois.extent(1).value == 5, "regions are {}; expected [count, 5]", to_text(rois));
  c.output(0, ir::Type::tensor(x.dtype(),
                               {rois.has_rank() ? rois.extent(0) : ir::Extent(),
                                x.has_rank() ? x.extent(1) : ir::Extent(), shape[0], shape[1]}));
}

SizedKernelMeaning::Kernel prepare_max_roi_pool(const ir::Node& node,
                                                std::span<const ir::Type> inputs) {
  const ir::Ints shape = pooled_shape(node.attributes);
  return kernels::max_roi_pool(shape[0], shape[1], node.attributes.f("spatial_scale", 1),
                               inputs[0].dtype());
}

const ir::OpEntry max_roi_pool{{
    .name = "max_roi_pool",
    .doc = "y = the regions of x, each cut into bins: the greatest element of each bin",
    .inputs = {{"x"}, {"rois"}},
    .attributes = {{"spatial_scale", 1.0}},
    .required = {"pooled_shape"},
    .type = max_roi_pool_rule,
    .meaning = kernel(prepare_max_roi_pool),
    .can_fail = true,
    .gradient =
        [](ir::Builder& b, const ir::Node& n, std::span<const ir::ValueId> adjoints) {
          return max_roi_pool_gradient(b, n, pooled_shape(n.attributes),
                                       n.attributes.f("spatial_scale", 1), adjoints[0]);
        },
}};

}  // namespace
}  // namespace rondel::ops
