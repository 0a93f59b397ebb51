#pragma once
#include <rondel/dtype.h>

namespace rondel::exporters {

/// The least IR version that has an opset, and that has a dtype.
int ir_version(int opset);
int ir_version(DType);

}  // namespace rondel::exporters
