#pragma once
#include "codegen/host.h"
#include "scalar/contract.h"

#include <cstdint>
#include <string>

/// How a matrix product is computed, chosen from what is known of it before the program runs. No
/// LLVM: the code generator and the schedule that is shown to people ask the same functions.
namespace rondel::codegen {

/// A factor: its number of rows or columns (-1: not known), and which strides certainly are 1.
struct FactorShape {
  std::int64_t count = -1;
  bool adjacent = false;      ///< from one row or column to the next
  bool k_adjacent = false;    ///< from k to k + 1
  bool out_adjacent = false;  ///< from one row or column of the result to the next
};

struct ProductShape {
  FactorShape rows, columns;
  std::int64_t depth = -1;     ///< extent of k; -1: not known
  std::int64_t sum_bytes = 4;  ///< of an accumulator
  bool sums_in_result = true;  ///< the result has the dtype of the accumulators
};

/// How columns are loaded into vectors. `direct`: neighbouring columns are contiguous in memory.
/// `transposed`: columns are contiguous along k. `strided`: neither.
enum class Columns : std::uint8_t { direct, transposed, strided };
Columns columns_of(const FactorShape&);
/// Whether c' = b' a' has columns that are cheaper to load into vectors than those of c = a b.
bool is_better_transposed(const ProductShape&);

/// The tiles of the result that are kept in registers: as many accumulators as fit into them
/// beside the factors, so that the latencies of their additions overlap.
struct Tiling {
  bool transposed = false;  ///< columns are contiguous along k and transposed in registers
  unsigned lanes = 1;       ///< columns in a vector
  unsigned rows = 1, vectors = 1;
};
Tiling tiling_of(const ProductShape&, const Host&);

/// Steps of k per pass over all columns.
inline constexpr std::int64_t steps_together = 4;
/// Whether the product has few rows and more contiguous columns than a tile: then passes over all
/// columns take a few steps of k each, so that the columns are read in memory order.
bool runs_along_columns(const ProductShape&, const Tiling&);

/// With fewer rows or columns than this, copying the columns costs more than it gains.
inline constexpr std::int64_t rows_worth_panels = 16, columns_worth_panels = 8;
/// The least depth for which panels are used.
std::int64_t depth_worth_panels(const Tiling&);
/// Whether panels are possible, and useful as far as extents are known.
bool takes_panels(const ProductShape&, const Tiling&);

/// A product of a program, in words: "dot products", "tiles of 6 x 32 in registers, ...".
std::string contract_form(const scalar::Program&, const scalar::Inst&, const Host&);

}  // namespace rondel::codegen
