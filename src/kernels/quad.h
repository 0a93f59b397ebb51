#pragma once
#include <cstdint>

namespace rondel::kernels {

/// Four bytes, the first in the lowest bits. Sums of products of quads are kept in the same type:
/// vectors of both have equally many lanes, so algorithms for float work on quads as well.
using Quad = std::int32_t;

}  // namespace rondel::kernels
