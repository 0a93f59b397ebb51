#pragma once
#include "codegen/compiler.h"
#include "compile/program_compiler.h"

#include <memory>

namespace rondel::compile {

class BackgroundCompiler;
class CodeCache;
class DiskCache;
class TieredExecutable;

/// How programs are executed.
enum class Execution {
  interpreter,  ///< interpreted only
  tiered,       ///< interpreted at first; compiled in the background: quickly, then, if hot, well
  compiled,     ///< compiled at once (programs that cannot be compiled are interpreted)
  quick,        ///< compiled at once without optimisations: for tests of many programs
};

/// The execution that the environment variable RONDEL_JIT selects: 0 (interpreter), 1 (tiered), 2
/// (compiled at once) or quick; `otherwise` if it is not set.
Execution execution_from_environment(Execution otherwise);

/// Code that compilers share: equal programs have one executable, whose run times are added up and
/// which is compiled once for each tier. Thread-safe.
class SharedCode {
 public:
  using Tier = codegen::Compiler::Tier;
  /// The code of all sessions of this process. Never destroyed.
  static SharedCode& of_process(Tier, bool divides_all = false);

  /// `last`: the tier of the best code. `disk`: where optimised code is kept for later processes;
  /// null: nowhere. `divides_all`: see codegen::Compiler.
  explicit SharedCode(Tier last, DiskCache& (*disk)() = nullptr, bool divides_all = false);
  ~SharedCode();
  std::shared_ptr<TieredExecutable> get(const std::shared_ptr<const scalar::Program>&);
  /// Returns when the program has code of the last tier. Throws the compiler's error, or the
  /// cancellation of the run that this thread prepares.
  void compile_now(const std::shared_ptr<TieredExecutable>&);
  /// Compiles for the last tier, soon.
  void compile_soon(const std::shared_ptr<TieredExecutable>&);

 private:
  std::shared_ptr<TieredExecutable> tiered(std::shared_ptr<const scalar::Program>);

  const Tier last_;
  std::shared_ptr<CodeCache> cache_;
  std::shared_ptr<BackgroundCompiler> background_compiler_;
};

/// Makes programs executable: interpreted at first, compiled once that is worth it. All tiers give
/// the same bits. Thread-safe.
class TieredCompiler : public ProgramCompiler {
 public:
  /// `checked`: check mode; all programs are made with checks. `divides_all`: see
  /// codegen::Compiler.
  explicit TieredCompiler(Execution, bool checked = false, bool divides_all = false);
  /// With code that others do not share: for tests.
  TieredCompiler(Execution, SharedCode&);
  Execution execution() const { return execution_; }
  bool only_interprets() const override { return execution_ == Execution::interpreter; }
  bool compiles_at_once() const override {
    return execution_ == Execution::compiled || execution_ == Execution::quick;
  }
  std::shared_ptr<const scalar::Executable> make(std::shared_ptr<const scalar::Program>) override;
  bool makes_ahead() const override { return !only_interprets(); }
  Ahead make_ahead(std::shared_ptr<const scalar::Program>) override;

 private:
  Ahead make_tiered(std::shared_ptr<const scalar::Program>, bool ahead);
  Ahead make_unchecked(std::shared_ptr<const scalar::Program>, bool ahead);

  Execution execution_;
  bool checked_ = false;
  SharedCode* code_ = nullptr;  ///< null: interpreter
};

}  // namespace rondel::compile
