#pragma once

namespace rondel::codegen {

/// Properties of the host that the choice of code depends on.
struct Host {
  unsigned vector_bytes = 16;  ///< size of the widest vector register
  unsigned vector_registers = 16;
};

}  // namespace rondel::codegen
