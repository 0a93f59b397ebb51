#include "exporters/onnx/opsets.h"

#include "formats/onnx/schemas.h"

namespace rondel::exporters {

int newest_opset() { return onnx::newest_version(""); }

}  // namespace rondel::exporters
