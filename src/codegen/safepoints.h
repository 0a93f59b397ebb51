#pragma once
#include "scalar/program.h"

#include <cstdint>
#include <vector>

/// Safepoints: where native code checks the stop flag. Programs do not contain them. Each program
/// gets enough to be stopped within a fraction of a millisecond, and none where a check would cost
/// time.
namespace rondel::codegen {

struct Safepoint {
  enum class Kind : std::uint8_t {
    none,
    back_edge,  ///< of a loop: on each back edge
    blocks,     ///< of a loop: between blocks of `block` trips; the inner loop has no checks
    tiles,      ///< of a product: before each tile, and in it between blocks of k
  };
  Kind kind = Kind::none;
  bool before = false;     ///< once before the loop or product, for the work that came before it
  std::int64_t block = 0;  ///< trips
};

/// One for each instruction; only those of `for_` and `contract` are not `none`.
std::vector<Safepoint> insert_safepoints(const scalar::Program&);

}  // namespace rondel::codegen
