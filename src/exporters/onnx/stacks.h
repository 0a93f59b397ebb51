#pragma once
#include "ir/builder.h"

/// What a stack of our loop has and one of ONNX's Loop has not.
namespace rondel::exporters {

struct StackForm {
  bool reverse = false;
  ir::ValueId extent = ir::ValueId::none;  ///< none: the number of trips
  std::int64_t axis = 0;
};

/// A stack as the loop promised it, from one that was made on axis 0, in order, without extent.
ir::ValueId finished_stack(ir::Builder&, ir::ValueId stack, const StackForm&);

/// `x` with axis `axis` backwards.
ir::ValueId reversed(ir::Builder&, ir::ValueId x, std::int64_t axis);

}  // namespace rondel::exporters
