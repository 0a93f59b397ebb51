#pragma once
#include "scalar/program.h"

#include <memory>

namespace rondel::compile {

class TieredExecutable;

/// How programs are executed.
enum class Execution {
  interpreter,  ///< interpreted only
  tiered,       ///< interpreted at first; hot programs are compiled in the background
  compiled,     ///< compiled at once (programs that cannot be compiled are interpreted)
  quick,        ///< compiled at once without optimisations: for tests of many programs
};

/// The execution that the environment variable RONDEL_JIT selects: 0 (interpreter), 1 (tiered), 2
/// (compiled at once) or quick; `otherwise` if it is not set.
Execution execution_from_environment(Execution otherwise);

/// Makes programs executable: interpreted at first, compiled once they are hot. All tiers give the
/// same bits. Equal programs share one executable: their run times are added up, and they are
/// compiled once. Thread-safe.
class TieredCompiler {
 public:
  /// `checked`: check mode; all programs are made with checks.
  explicit TieredCompiler(Execution, bool checked = false);
  ~TieredCompiler();
  Execution execution() const { return execution_; }
  std::shared_ptr<const scalar::Executable> make(std::shared_ptr<const scalar::Program>);

 private:
  class BackgroundCompiler;
  class CodeCache;
  std::shared_ptr<const scalar::Executable> make_unchecked(std::shared_ptr<const scalar::Program>);
  std::shared_ptr<TieredExecutable> tiered(std::shared_ptr<const scalar::Program>);

  Execution execution_;
  bool checked_;
  std::shared_ptr<BackgroundCompiler> background_compiler_;
  std::unique_ptr<CodeCache> cache_;
};

}  // namespace rondel::compile
