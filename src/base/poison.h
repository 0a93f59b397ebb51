#pragma once
#include <rondel/dtype.h>

#include <cstddef>

/// Check mode: the pattern in memory that nothing has written yet.
namespace rondel {

/// Fills `bytes` bytes of elements with a value that shows in results: NaN for floats, true for
/// bool, and for integers a number with a conspicuous bit pattern (0xA5...), which is negative if
/// signed. Does nothing for strings.
void poison(DType, void* data, std::size_t bytes);

}  // namespace rondel
