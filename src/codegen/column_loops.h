#pragma once
#include "scalar/program.h"

#include <cstdint>
#include <functional>
#include <map>
#include <set>

/// Loops in a lane loop whose trips are columns of tiles, of which the lanes have the rows
/// (row_tiles.h).
namespace rondel::codegen {

/// A parallel loop in a lane loop, of which several trips run at once: each accesses its column of
/// tiles. A matrix that is transposed is so read along the lanes and written along the columns.
struct ColumnLoop {
  std::int64_t columns = 0;              ///< trips at once, at most; a power of two
  std::set<std::size_t> loaded, stored;  ///< the accesses of rows, by index of the instruction
};

/// How lanes access a buffer.
enum class LaneAccess : std::uint8_t {
  one_place,  ///< the same element for all lanes
  adjacent,   ///< neighbouring lanes access adjacent elements
  rows,       ///< neighbouring lanes access the same place of neighbouring rows
  other,
};

/// The loops in a lane loop's body, [begin, end), that are to be column loops, by the index of
/// their `for_`: they read what is adjacent for the lanes and not for their own trips, and write
/// along rows only.
std::map<std::size_t, ColumnLoop> find_column_loops(
    const scalar::Program&, std::size_t begin, std::size_t end,
    const std::function<LaneAccess(const scalar::Inst&)>& access_of);

}  // namespace rondel::codegen
