#include "kernels/non_max_suppression.h"
#include "base/error.h"
#include "ops/gradients.h"
#include "ops/meaning.h"
#include "ops/type_rules.h"

namespace rondel::ops {
namespace {

bool is_centered(const ir::Attributes& a) {
  const std::int64_t given = a.i("center_point_box");
  require(given == 0 || given == 1, "center_point_box is {}; expected 0 or 1", given);
  return given == 1;
}

void require_same_count(const ir::Extent& a, const ir::Extent& b, std::string_view what) {
  require(!a.known() || !b.known() || a.value == b.value, "boxes have {} {} and scores {}", a.value,
          what, b.value);
}

void non_max_suppression_rule(ir::TypeContext& c) {
  for (const std::size_t k : {0U, 1U}) {
    require_dtype(c, k, DType::f32);
    require_rank(c, k, 3);
  }
  is_centered(c.attributes());
  const ir::Type &boxes = c.input(0), &scores = c.input(1);
  if (boxes.has_rank()) {
    const ir::Extent& corners = boxes.extent(2);
    require(!corners.known() || corners.value == 4, "boxes are {}; expected [batch, n, 4]",
            to_text(boxes));
  }
  if (boxes.has_rank() && scores.has_rank()) {
    require_same_count(boxes.extent(0), scores.extent(0), "batch elements");
    require_same_count(boxes.extent(1), scores.extent(2), "boxes");
  }
  for (const std::size_t k : {2U, 3U, 4U}) {
    if (!c.has(k)) continue;
    require_dtype(c, k, k == 2 ? DType::i64 : DType::f32);
    require_scalar(c, k);
  }
  c.output(0, ir::Type::tensor(DType::i64, ir::Extents{ir::Extent(), 3}));
}

kernels::UnsizedKernel prepare_non_max_suppression(const ir::Node& node,
                                                   std::span<const ir::Type>) {
  return [centered = is_centered(node.attributes)](kernels::UnsizedCall& call) {
    kernels::non_max_suppression(call, centered);
  };
}

const ir::OpEntry non_max_suppression{{
    .name = "non_max_suppression",
    .doc = "y = the batch, class and box index of each box that is kept, class by class by falling "
           "score: those that do not overlap a better one by more than the threshold",
    .inputs = {{"boxes"},
               {"scores"},
               {"max_output_boxes_per_class", ir::InputDef::optional},
               {"iou_threshold", ir::InputDef::optional},
               {"score_threshold", ir::InputDef::optional}},
    .attributes = {{"center_point_box", std::int64_t{0}}},
    .type = non_max_suppression_rule,
    .meaning = unsized_kernel(prepare_non_max_suppression),
    .can_fail = true,
    .gradient = zero_gradient,
}};

}  // namespace
}  // namespace rondel::ops
