#pragma once
#include "codegen/host.h"
#include "scalar/program.h"

#include <cstdint>
#include <functional>
#include <vector>

/// Accesses of lanes that work on neighbouring rows, each at known places of its row. One by one
/// they would be gathers and scatters, which take as long as their elements. Instead a tile is read
/// or written: of each row some neighbouring elements, as a vector along the row. The tile is
/// transposed in registers, where a column of it has the elements of all lanes.
namespace rondel::codegen {

struct RowAccess {
  std::size_t at = 0;  ///< index of the instruction
  std::int64_t column = 0;
};

/// Loads of the same row of one buffer, with nothing between them that writes memory; or stores to
/// it, with nothing but arithmetic between them.
using RowAccesses = std::vector<RowAccess>;

/// The loads or the stores in a loop's body, [begin, end), of rows of its trips: outside of ifs and
/// loops in it, in the order of the instructions. `is_row`: whether the leading indices choose
/// neighbouring rows for neighbouring lanes; `place`: the number that a register holds if it is
/// known, else -1.
std::vector<RowAccesses> find_row_accesses(const scalar::Program&, scalar::Op, std::size_t begin,
                                           std::size_t end,
                                           const std::function<bool(const scalar::Inst&)>& is_row,
                                           const std::function<std::int64_t(scalar::Reg)>& place);

struct RowTile {
  std::int64_t first = 0;    ///< column
  std::int64_t columns = 0;  ///< from the first to the last one that is accessed
  RowAccesses accesses;      ///< in the order of the instructions
};

/// Divides accesses into tiles of at most `most` columns.
std::vector<RowTile> tiles_of(RowAccesses, std::int64_t most);

/// The most columns of a tile: the elements of one vector register, or fewer if there are fewer
/// lanes.
std::int64_t most_columns(const Host&, DType, std::int64_t lanes);

/// The number of indices of a load or a store.
std::size_t index_count(const scalar::Inst&);

}  // namespace rondel::codegen
