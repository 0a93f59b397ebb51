#pragma once

namespace rondel::codegen {

/// Properties of the host that the choice of code depends on.
struct Host {
  unsigned vector_bytes = 16;  ///< size of the widest vector register
  unsigned vector_registers = 16;
  bool scales = false;  ///< AVX-512's instruction for a * 2^b on vectors of 64 bytes
};

}  // namespace rondel::codegen
