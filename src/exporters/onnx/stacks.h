#pragma once
#include "ir/builder.h"

/// Layouts of stacks (direction, extent, axis) that ONNX's Loop does not have.
namespace rondel::exporters {

struct StackLayout {
  bool reverse = false;
  ir::ValueId extent = ir::ValueId::none;  ///< none: the trip count
  std::int64_t axis = 0;
};

/// Converts a stack on axis 0, in trip order and without an extent, to the layout.
ir::ValueId apply_stack_layout(ir::Builder&, ir::ValueId stack, const StackLayout&);

/// `x` reversed along axis `axis`.
ir::ValueId reversed(ir::Builder&, ir::ValueId x, std::int64_t axis);

}  // namespace rondel::exporters
