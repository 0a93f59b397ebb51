#pragma once
#include "ops/op_test.h"

namespace rondel::test {

/// Checks that the case gives the same bits after export to ONNX, import and interpretation. The
/// case is also checked with one of its dtypes, in inputs and attributes, replaced by each other
/// dtype that the op accepts. The exporter may not refuse any of these models.
void check_exports(const OpCase&, std::size_t outputs, const std::string& line);

}  // namespace rondel::test
