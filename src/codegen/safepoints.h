#pragma once
#include "scalar/program.h"

#include <cstdint>
#include <vector>

/// Safepoints: the places where native code checks the stop flag. They are not a part of the scalar
/// program. A program gets so many that it can be stopped within a fraction of a millisecond, but
/// none where a check would have a measurable cost.
namespace rondel::codegen {

struct Safepoint {
  enum class Kind : std::uint8_t {
    none,
    back_edge,  ///< a loop checks on each back edge
    blocks,     ///< a loop checks between blocks of `block` trips; the inner loop has no checks
    tiles,      ///< a product checks before each tile, and within a tile between blocks of k
  };
  Kind kind = Kind::none;
  bool before = false;     ///< also check before the loop or product, because of the work before it
  std::int64_t block = 0;  ///< trips of a block
};

/// Returns one safepoint per instruction. Only `for_` and `contract` get another kind than `none`.
std::vector<Safepoint> insert_safepoints(const scalar::Program&);

}  // namespace rondel::codegen
