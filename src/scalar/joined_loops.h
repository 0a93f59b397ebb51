#pragma once
#include "scalar/program.h"

namespace rondel::scalar {

/// Makes one loop of the innermost loops of each nest over neighbouring axes, where rows are short:
/// all their trips are independent, and their indices are only read together, as indices on
/// neighbouring axes of contiguous buffers whose extents are the loops'. Loops over [n, 7, 7]
/// elements become one of 49 n trips, whose index is split into three: code generators find vectors
/// in it, and threads parts of one size. `marks`: places in the code, which move with it.
void join_loops(Program&, std::vector<std::size_t>& marks);

}  // namespace rondel::scalar
