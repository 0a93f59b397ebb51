#pragma once
#include <rondel/operators.h>

#include <vector>

namespace rondel::onnx {

/// See rondel::newest_opset and rondel::operators.
int newest_opset();
std::vector<Operator> operators(int opset);

}  // namespace rondel::onnx
