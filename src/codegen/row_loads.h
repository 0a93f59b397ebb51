#pragma once
#include "codegen/host.h"
#include "scalar/program.h"

#include <cstdint>
#include <functional>
#include <vector>

/// Loads of lanes that work on neighbouring rows, each at known places of its row. One by one they
/// would be gathers, which take as long as the elements that they read. Instead a tile is read: of
/// each row some neighbouring elements, as a vector along the row. The tile is transposed in
/// registers, and each column of it is what a load gives.
namespace rondel::codegen {

struct RowLoad {
  std::size_t at = 0;  ///< index of the instruction
  std::int64_t column = 0;
};

/// Loads of the same row of one buffer, with nothing between them that writes memory.
using RowLoads = std::vector<RowLoad>;

/// The loads of a loop's body, [begin, end), of rows of its trips: outside of ifs and loops in it,
/// in the order of the instructions. `is_row`: whether the load's leading indices choose
/// neighbouring rows for neighbouring lanes; `place`: the number that a register holds if it is
/// known, else -1.
std::vector<RowLoads> find_row_loads(const scalar::Program&, std::size_t begin, std::size_t end,
                                     const std::function<bool(const scalar::Inst&)>& is_row,
                                     const std::function<std::int64_t(scalar::Reg)>& place);

struct RowTile {
  std::int64_t first = 0;    ///< column
  std::int64_t columns = 0;  ///< from the first to the last one that is loaded
  RowLoads loads;            ///< in the order of the instructions
};

/// Divides loads into tiles of at most `most` columns.
std::vector<RowTile> tiles_of(RowLoads, std::int64_t most);

/// The most columns of a tile: the elements of one vector register, or fewer if there are fewer
/// lanes.
std::int64_t most_columns(const Host&, DType, std::int64_t lanes);

}  // namespace rondel::codegen
