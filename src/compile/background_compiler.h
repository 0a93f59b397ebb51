#pragma once
#include "base/fork.h"
#include "codegen/compiler.h"
#include "compile/code_cache.h"
#include "compile/disk_cache.h"

#include <memory>

namespace rondel::compile {

/// Compiling threads: one for the optimised code of hot programs, a second one if quick code is
/// wanted while it works, more if runs wait for programs. Compilation continues
/// if a run stops waiting, and is cancelled at LLVM's next pass when nobody uses the program any
/// more. When this object is destroyed, nothing waits for the threads, and they drop their work in
/// the same way. The child of a fork starts with an empty queue and threads of its own.
class BackgroundCompiler : ForkAware {
 public:
  using Tier = codegen::Compiler::Tier;
  using Program = std::weak_ptr<TieredExecutable>;

  /// Asked when a program is compiled. Null: there is none.
  using Disk = DiskCache& (*)();

  /// What has been compiled is kept in `compiled`, optimised code also in `disk` for later
  /// processes. `divides_all`: see codegen::Compiler.
  BackgroundCompiler(std::shared_ptr<CodeCache> compiled, Disk disk, bool divides_all = false);
  ~BackgroundCompiler() override;

  /// Whether the optimised code of the program only has to be read and linked.
  bool is_on_disk(const scalar::Program&) const;
  /// Compiles for a tier, soon: quick code goes first.
  void enqueue(Program, Tier);
  /// Returns when the program has been compiled, cannot be compiled, or the run must end.
  void compile_now(const Program&, Tier, const scalar::Context& run);
  /// The same of the program's last tier, for the run that this thread prepares. Throws the
  /// compiler's error, or the cancellation of the run.
  void compile_now(const std::shared_ptr<TieredExecutable>&);

 private:
  class Workers;
  void after_fork_in_child() override;

  std::shared_ptr<CodeCache> compiled_;
  Disk disk_;
  bool divides_all_;
  std::shared_ptr<Workers> workers_;
  ForkRegistration registration_{*this};
};

}  // namespace rondel::compile
