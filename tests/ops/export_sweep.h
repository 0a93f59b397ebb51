#pragma once
#include "ops/op_test.h"

namespace rondel::test {

/// The case in every combination of dtypes that its op takes, one dtype of its inputs or attributes
/// exchanged at a time: written as ONNX, which onnx's checker and shape inference accept, read back
/// and interpreted, it gives the same bits. What cannot be written is listed in the source, with
/// the reason, and nothing else may be refused.
void check_exports(const OpCase&, std::size_t outputs, const std::string& line);

}  // namespace rondel::test
