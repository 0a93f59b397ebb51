#pragma once
#include "ops/op_test.h"

namespace rondel::test {

/// Where the op says that it is batchable: one call on stacks of the case's inputs, of each alone
/// and of all together, gives the bits that the op gives for each element of the stacks.
void check_batches(const OpCase&, std::size_t outputs, const std::string& line);

}  // namespace rondel::test
