#pragma once
#include <rondel/operators.h>

#include <vector>

namespace rondel::onnx {

/// See rondel::newest_opset and rondel::operators.
int newest_opset();
/// Throws Error(caller) for an opset that does not exist.
void check_opset(std::int64_t);
std::vector<Operator> operators(int opset);

}  // namespace rondel::onnx
