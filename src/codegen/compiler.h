#pragma once
#include "scalar/program.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace rondel::codegen {

class Jit;
struct Host;

/// Compiles scalar programs to native code for the host. Thread-safe; one compiler is enough for a
/// process. Executables may outlive the compiler.
class Compiler {
 public:
  enum class Tier {
    quick,      ///< fastest compilation, without optimisation passes
    optimised,  ///< with optimisation and vectorisation
  };

  /// `divides_all`: also loops and products that are known to be too small for several threads
  /// become functions that threads may share, for tests.
  explicit Compiler(bool divides_all = false);
  ~Compiler();
  Compiler(const Compiler&) = delete;
  Compiler& operator=(const Compiler&) = delete;

  /// Called between LLVM's passes; returns false to cancel the compilation.
  using StillWanted = std::function<bool()>;
  /// Machine code that is not linked: what an executable of this program, or of another one with
  /// the same code, is linked from, in this process or in another one.
  using Object = std::vector<std::byte>;
  /// Empty if the compilation was cancelled. Requires and throws what `compile` does.
  Object assemble(const scalar::Program&, Tier, const StillWanted& = {}) const;
  /// `object`: of a program with the same code, made for this processor by this build. Throws
  /// Error(internal) with LLVM's message if it can't be linked.
  std::unique_ptr<scalar::Executable> link(std::shared_ptr<const scalar::Program>,
                                           std::span<const std::byte> object) const;

  /// Both. In both tiers the code computes the same bits as the interpreter, except for the
  /// payloads of NaNs, which depend on the processor. The program must have passed
  /// `scalar::verify`, and `refusal` must be empty. Returns null if the compilation was cancelled.
  /// Throws Error(internal) with LLVM's message if LLVM fails.
  std::unique_ptr<scalar::Executable> compile(std::shared_ptr<const scalar::Program>,
                                              Tier = Tier::optimised,
                                              const StillWanted& = {}) const;

  /// The processor that code is made for.
  Host host() const;

  /// Compiles a tiny program, so that LLVM's global data exists afterwards.
  void warm_up(Tier) const;

  /// The reason why a program cannot be compiled; empty if it can.
  static std::string refusal(const scalar::Program&);

  /// The LLVM IR of a program, before (quick) or after (optimised) passes. For tests and debugging.
  std::string to_llvm(const scalar::Program&, Tier = Tier::optimised) const;

 private:
  std::shared_ptr<Jit> jit_;
  bool divides_all_;
};

}  // namespace rondel::codegen
