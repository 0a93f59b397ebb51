#pragma once
#include "scalar/program.h"

#include <cstdint>
#include <vector>

/// Where native code looks at the stop flag. No program says so: each is given as many looks as end
/// it within a fraction of a millisecond, and none where they would cost anything.
namespace rondel::codegen {

struct Look {
  enum class Kind : std::uint8_t {
    none,
    each,    ///< of a loop: on each back edge
    blocks,  ///< of a loop: between blocks of `block` trips; the loop inside stays free of looks
    tiles,   ///< of a product: before each tile, and in it between blocks of k
  };
  Kind kind = Kind::none;
  bool before = false;     ///< once before the loop or product, for what came before it
  std::int64_t block = 0;  ///< trips
};

/// One an instruction; those of `for_` and `contract` say something.
std::vector<Look> place_looks(const scalar::Program&);

}  // namespace rondel::codegen
