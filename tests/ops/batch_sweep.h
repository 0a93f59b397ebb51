#pragma once
#include "ops/op_test.h"

namespace rondel::test {

/// If the op has a batch rule: checks that one call on stacks of the case's inputs gives the same
/// bits as one call for each element of the stacks. Each input is stacked alone, then all together.
void check_batches(const OpCase&, std::size_t outputs, const std::string& line);

}  // namespace rondel::test
