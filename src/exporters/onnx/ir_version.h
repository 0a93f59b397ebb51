#pragma once
#include <rondel/dtype.h>

namespace rondel::exporters {

/// The oldest IR version that has the opset, or that has the dtype.
int ir_version(int opset);
int ir_version(DType);

}  // namespace rondel::exporters
