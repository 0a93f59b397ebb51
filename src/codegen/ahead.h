#pragma once
#include "codegen/compiler.h"

#include <memory>
#include <string>
#include <vector>

namespace rondel::codegen {

/// Compiles scalar programs to objects that a linker takes: for the host, or for another processor.
/// Thread-safe.
class AheadCompiler {
 public:
  /// `cpu`: "native", or LLVM's name of a processor. Throws Error(caller) if there is none of this
  /// name.
  explicit AheadCompiler(const std::string& cpu);
  ~AheadCompiler();

  /// A relocatable object with the function `symbol`, a `scalar::NativeFunction`: optimised code
  /// that finds kernels and attributes at its argument `links`. Its only undefined symbols are
  /// functions of the C library. The program must have passed `scalar::verify`, and
  /// `Compiler::refusal` must be empty.
  Compiler::Object assemble(const scalar::Program&, const std::string& symbol) const;

  /// The instruction sets that the code may use, by LLVM's names: "avx2", "fma", ...
  std::vector<std::string> instruction_sets() const;
  /// LLVM's name of the processor.
  std::string cpu() const;

 private:
  std::unique_ptr<Jit> jit_;
};

}  // namespace rondel::codegen
