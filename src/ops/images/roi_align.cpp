#include "ops/images/roi_gradients.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

kernels::RoiAlign roi_align_spec(const ir::Attributes& a) {
  const std::string mode = a.s("mode", "avg"),
                    coordinates = a.s("coordinate_transformation_mode", "half_pixel");
  require(mode == "avg" || mode == "max", "mode is '{}'; expected avg or max", mode);
  require(coordinates == "half_pixel" || coordinates == "output_half_pixel",
          "coordinate_transformation_mode is '{}'; expected half_pixel or output_half_pixel",
          coordinates);
  const kernels::RoiAlign spec{coordinates == "half_pixel", mode == "avg",
                               a.i("output_height", 1),     a.i("output_width", 1),
                               a.i("sampling_ratio", 0),    a.f("spatial_scale", 1)};
  for (const std::int64_t n : {spec.height, spec.width})
    require(n >= 1 && n < std::int64_t{1} << 31, "output extent {}; expected 1 or more", n);
  require(spec.samples >= 0 && spec.samples < 1 << 24, "sampling_ratio is {}; expected 0 or more",
          spec.samples);
  return spec;
}

void roi_align_rule(ir::TypeContext& c) {
  for (const std::size_t k : {0U, 1U}) require_dtypes(c, k, float_dtypes());
  require_same_dtype(c, 0, 1);
  require_dtype(c, 2, DType::i64);
  require_rank(c, 0, 4);
  require_rank(c, 1, 2);
  require_rank(c, 2, 1);
  const kernels::RoiAlign spec = roi_align_spec(c.attributes());
  const ir::Type &x = c.input(0), &rois = c.input(1), &batch = c.input(2);
  ir::Extent count;
  if (batch.has_rank()) count = batch.extent(0);
  if (rois.has_rank()) {
    const ir::Extent &corners = rois.extent(1), &n = rois.extent(0);
    require(!corners.known() || corners.value == 4, "regions are {}; expected [count, 4]",
            to_text(rois));
    require(!n.known() || !count.known() || n.value == count.value,
            "there are {} regions, and batch elements of {}", n.value, count.value);
    if (!count.known()) count = n;
  }
  c.output(0, ir::Type::tensor(x.dtype(), {count, x.has_rank() ? x.extent(1) : ir::Extent(),
                                           spec.height, spec.width}));
}

SizedKernelMeaning::Kernel prepare_roi_align(const ir::Node& node,
                                             std::span<const ir::Type> inputs) {
  return kernels::roi_align(roi_align_spec(node.attributes), inputs[0].dtype());
}

const ir::OpEntry roi_align{{
    .name = "roi_align",
    .doc = "y = the regions of x, each cut into bins: the mean, or the greatest, of samples that "
           "are interpolated",
    .inputs = {{"x"}, {"rois"}, {"batch_indices"}},
    .attributes = {{"coordinate_transformation_mode", "half_pixel"},
                   {"mode", "avg"},
                   {"output_height", 1},
                   {"output_width", 1},
                   {"sampling_ratio", 0},
                   {"spatial_scale", 1.0}},
    .type = roi_align_rule,
    .meaning = kernel(prepare_roi_align),
    .can_fail = true,
    .gradient =
        [](ir::Builder& b, const ir::Node& n, std::span<const ir::ValueId> adjoints) {
          return roi_align_gradient(b, n, roi_align_spec(n.attributes), adjoints[0]);
        },
}};

}  // namespace
}  // namespace rondel::ops
