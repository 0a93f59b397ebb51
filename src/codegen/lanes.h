#pragma once
#include "codegen/column_loops.h"
#include "codegen/host.h"
#include "codegen/joined_indices.h"
#include "codegen/row_tiles.h"
#include "scalar/program.h"

#include <cstdint>
#include <map>
#include <set>
#include <vector>

/// Vectorisation over the trips of an outer loop: the trips of a parallel loop become the lanes of
/// vectors, and the loops inside of it run once for all lanes. LLVM vectorises innermost loops
/// only; a reduction over rows, a state that all trips of an inner loop update, or a transposed
/// matrix needs this. So does long arithmetic without loops, for which LLVM's code runs out of
/// registers. Of other loops the last trips do, which LLVM would run one by one: rows may be short.
/// Short loops over local arrays, the lanes of reductions, become straight code.
namespace rondel::codegen {

/// How the value of a register differs between neighbouring lanes.
enum class Variation : std::uint8_t {
  none,   ///< all lanes have the same value
  steps,  ///< lane l has the value of lane 0 plus l
  any,
};

struct LaneLoop {
  std::int64_t width = 0;  ///< lanes; a power of two
  bool tail = true;        ///< the number of trips may not be a multiple of the width
  bool only_tail = false;  ///< LLVM vectorises all but the last trips
  /// Not 0: the most trips. One vector follows the other without a loop, so that the places in
  /// local arrays are constants and LLVM keeps these in registers.
  std::int64_t unrolled = 0;
  std::set<std::int32_t> private_locals = {};  ///< local arrays of which each lane has its own
  std::map<std::size_t, RowTile> loaded = {};  ///< by the index of the first load of the tile
  std::map<std::size_t, RowTile> stored = {};  ///< by the index of the last store of the tile
  std::set<std::size_t> in_tiles = {};         ///< the other loads and stores of tiles
  std::map<std::size_t, ColumnLoop> column_loops = {};  ///< by the index of their `for_`
};

/// The loops of a program whose trips become lanes, by the index of their `for_`.
struct LanePlan {
  std::map<std::size_t, LaneLoop> loops;
  std::vector<Variation> variation;  ///< by Reg; `none` outside of the loops
};

/// Chooses parallel loops around sequential ones, those whose trips and not the ones of an inner
/// loop access adjacent elements, and those of long arithmetic. Within such a loop, control flow is
/// the same for all lanes, but for ifs that only compute, whose branches are both taken where lanes
/// disagree; and each access of a buffer is at one place for all lanes, or at adjacent ones, or at
/// places of neighbouring rows that are known or those of an inner loop's trips. `why_not`: null,
/// or gets the parallel loops around sequential ones that stay as they are, and why.
LanePlan plan_lanes(const scalar::Program&, const Host&,
                    std::map<std::size_t, const char*>* why_not = nullptr);

}  // namespace rondel::codegen
