#include "codegen/compiler.h"

#include <fmt/format.h>

namespace rondel::codegen {

std::string Compiler::refusal(const scalar::Program& program) {
  for (const scalar::Buffer& b : program.buffers)
    if (b.dtype == DType::string)
      return fmt::format("buffer {} holds strings, which have no native form", b.name);
  for (const DType t : program.reg_types)
    if (t == DType::string) return "strings have no native form";
  return {};
}

}  // namespace rondel::codegen
