#pragma once
#include "scalar/program.h"

#include <functional>
#include <memory>
#include <string>

namespace rondel::codegen {

class Jit;

/// Turns scalar programs into native code for the machine it runs on. Thread-safe; one serves a
/// whole process. Executables keep what they need of it alive.
class Compiler {
 public:
  enum class Tier {
    quick,      ///< ready soonest: no passes over the code
    optimised,  ///< loops in vectors, values in registers
  };

  Compiler();
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Called between LLVM's passes; false: the code is no longer wanted.
  using StillWanted = std::function<bool()>;
  /// Gives the bits the interpreter gives, in either tier (of a NaN only that it is one: which bits
  /// it has is up to the processor). The program has passed `scalar::verify` and has no refusal.
  /// Throws Error(internal) with LLVM's words when code cannot be made; null where it was no longer
  /// wanted.
  std::unique_ptr<scalar::Executable> compile(std::shared_ptr<const scalar::Program>,
                                              Tier = Tier::optimised,
                                              const StillWanted& = {}) const;

  /// Why a program cannot be compiled on this machine, naming what it holds; empty: it can.
  static std::string refusal(const scalar::Program&);

  /// The LLVM IR that `compile` makes, before or after passes. For tests and for reading.
  std::string to_llvm(const scalar::Program&, Tier = Tier::optimised) const;

 private:
  std::shared_ptr<Jit> jit_;
};

}  // namespace rondel::codegen
