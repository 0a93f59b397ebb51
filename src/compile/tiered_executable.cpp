#include "compile/tiered_executable.h"

#include "compile/llvm_threads.h"
#include "compile/work_estimate.h"

#include <chrono>

namespace rondel::compile {
namespace {

/// A program is hot if interpreting it has taken this long in total: about as long as compiling it.
constexpr std::int64_t hot_ns = 2'000'000;
/// A run of more instructions than this waits for native code, because compiling costs less.
constexpr double most_interpreted = 1e7;
/// The same if native code only has to be linked.
constexpr double most_interpreted_if_soon = 2e4;

}  // namespace

TieredExecutable::TieredExecutable(std::shared_ptr<const scalar::Program> program)
    : program_(std::move(program)), interpreted_(scalar::interpret(program_)),
      most_interpreted_(most_interpreted) {}

TieredExecutable::~TieredExecutable() {
  if (!owned_) return;
  scalar::Executable* native = owned_.release();  // leaked if the process is exiting
  LlvmThreads::threads().run_unless_exiting([native] { delete native; });
}

scalar::Status TieredExecutable::run(scalar::Context& c, const scalar::View* v,
                                     const std::int64_t* params) const {
  if (!native() && on_large_run && estimated_work(*program_, v, params) > most_interpreted_ &&
      !asked_.test_and_set())
    on_large_run(c);
  const scalar::Executable* native = native_.load(std::memory_order_acquire);
  c.interpreted = native == nullptr;
  if (native != nullptr) return native->run(c, v, params);
  const auto begin = std::chrono::steady_clock::now();
  const scalar::Status status = interpreted_->run(c, v, params);
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  const std::int64_t before = spent_.fetch_add(took.count(), std::memory_order_relaxed);
  if (before < hot_ns && before + took.count() >= hot_ns && on_hot) on_hot();
  return status;
}

void TieredExecutable::expect_soon() { most_interpreted_ = most_interpreted_if_soon; }

void TieredExecutable::replace(std::unique_ptr<scalar::Executable> native) {
  const std::lock_guard lock(replacing_);
  if (owned_) return;
  owned_ = std::move(native);
  native_.store(owned_.get(), std::memory_order_release);
}

void TieredExecutable::cancelled() {
  spent_.store(0, std::memory_order_relaxed);
  asked_.clear();
}

}  // namespace rondel::compile
