#pragma once
#include "scalar/program.h"

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace rondel::compile {

/// An executable that is interpreted until it is replaced by native code, while it runs.
/// Thread-safe.
class TieredExecutable : public scalar::Executable {
 public:
  explicit TieredExecutable(std::shared_ptr<const scalar::Program>);
  ~TieredExecutable() override;

  scalar::Status run(scalar::Context&, const scalar::View*,
                     const std::int64_t* params) const override;
  const scalar::Program& program() const override { return *program_; }
  bool native() const override { return native_.load(std::memory_order_acquire) != nullptr; }
  const std::shared_ptr<const scalar::Program>& shared_program() const { return program_; }

  /// Native code only has to be read and linked: shorter runs wait for it, too. Called before any
  /// run.
  void expect_soon();
  /// Only the first replacement is used, because other threads may be running it.
  void replace(std::unique_ptr<scalar::Executable> native);
  /// Compiling was cancelled: requests native code once more when the program is hot again.
  void cancelled();

  std::function<void()> on_hot;  ///< requests native code
  /// Waits for native code, or until the run must end.
  std::function<void(const scalar::Context&)> on_large_run;

 private:
  std::shared_ptr<const scalar::Program> program_;
  std::unique_ptr<scalar::Executable> interpreted_;
  double most_interpreted_;
  std::mutex replacing_;
  std::unique_ptr<scalar::Executable> owned_;
  std::atomic<const scalar::Executable*> native_{nullptr};
  mutable std::atomic_flag asked_;
  mutable std::atomic<std::int64_t> spent_{0};  ///< interpreting, ns
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
