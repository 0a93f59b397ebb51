#pragma once
#include "codegen/compiler.h"
#include "scalar/program.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace rondel::compile {

/// An executable that is interpreted at first, then quick code, then optimised code, which replace
/// each other while it runs. Thread-safe.
class TieredExecutable : public scalar::Executable {
 public:
  using Tier = codegen::Compiler::Tier;

  /// `last`: the tier of the best code that it will have.
  TieredExecutable(std::shared_ptr<const scalar::Program>, Tier last);
  ~TieredExecutable() override;

  scalar::Status run(scalar::Context&, const scalar::View*,
                     const std::int64_t* params) const override;
  const scalar::Program& program() const override { return *program_; }
  bool native() const override { return has(Tier::quick); }
  /// Whether it has the best code that it will have.
  bool settled() const { return has(last_); }
  const std::shared_ptr<const scalar::Program>& shared_program() const { return program_; }
  Tier last() const { return last_; }
  /// Whether it has code of this tier or of a better one.
  bool has(Tier tier) const;

  /// The best code probably only has to be read and linked: it is not compiled quickly first, and
  /// shorter runs wait for it.
  void expect_soon() { soon_.store(true, std::memory_order_relaxed); }
  /// The code is there, or it is not; whether it was expected.
  bool stop_expecting();
  /// True for the first caller, who looks whether the code is on disk.
  bool first_look() { return !looked_.test_and_set(); }
  /// Only the first code of a tier is used, because other threads may be running it.
  void replace(Tier, std::unique_ptr<scalar::Executable>);
  /// Compiling was cancelled, or goes on only in the parent of a fork: requests code once more when
  /// the program is hot again.
  void cancelled();

  std::function<void(Tier)> on_hot;  ///< requests code of a tier
  /// Waits for code of a tier, or until the run must end.
  std::function<void(Tier, const scalar::Context&)> on_large_run;

 private:
  /// Code of one tier.
  struct Native {
    std::unique_ptr<scalar::Executable> owned;
    std::atomic<const scalar::Executable*> code{nullptr};
    mutable std::atomic_flag waited_for;
  };

  const Native& of(Tier tier) const { return tier == last_ ? best_ : quick_; }
  /// The best code that there is now.
  const scalar::Executable& code_now() const;
  void wait_if_large(scalar::Context&, const scalar::View*, const std::int64_t* params) const;
  void count(std::int64_t ns) const;

  std::shared_ptr<const scalar::Program> program_;
  const Tier last_;
  std::atomic<bool> soon_{false};
  std::atomic_flag looked_;
  std::unique_ptr<scalar::Executable> interpreted_;
  std::mutex replacing_;
  Native quick_, best_;
  mutable std::atomic<std::int64_t> spent_{0};  ///< without the best code, ns
};

/// Runs the code of an equal program, with the error messages of its own program.
class SharedCodeExecutable : public scalar::Executable {
 public:
  SharedCodeExecutable(std::shared_ptr<const scalar::Program> program,
                       std::shared_ptr<const TieredExecutable> code)
      : program_(std::move(program)), code_(std::move(code)) {}
  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    return code_->run(c, v, params);
  }
  const scalar::Program& program() const override { return *program_; }
  bool native() const override { return code_->native(); }

 private:
  std::shared_ptr<const scalar::Program> program_;
  std::shared_ptr<const TieredExecutable> code_;
};

}  // namespace rondel::compile
