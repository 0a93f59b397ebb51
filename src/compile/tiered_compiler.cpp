#include "compile/tiered_compiler.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/named_thread.h"
#include "codegen/compiler.h"
#include "compile/check_mode.h"
#include "compile/work_estimate.h"
#include "scalar/same_code.h"
#include "scalar/with_checks.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <exception>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace rondel::compile {
namespace {

/// A program is hot if interpreting it has taken this long in total: about as long as compiling it.
constexpr std::int64_t hot_ns = 2'000'000;
/// A run of more instructions than this waits for compiled code, because compiling costs less.
constexpr double most_interpreted = 1e7;

}  // namespace

/// An executable that is replaced by a better one while it runs.
class TieredExecutable : public scalar::Executable {
 public:
  explicit TieredExecutable(std::shared_ptr<const scalar::Program> p)
      : program_(std::move(p)), interpreted_(scalar::interpret(program_)) {}

  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    if (!native() && on_large_run && estimated_work(*program_, v, params) > most_interpreted &&
        !asked_.test_and_set())
      on_large_run(c);
    if (const scalar::Executable* better = better_.load(std::memory_order_acquire))
      return better->run(c, v, params);
    const auto begin = std::chrono::steady_clock::now();
    const scalar::Status status = interpreted_->run(c, v, params);
    const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
    const std::int64_t before = spent_.fetch_add(took.count(), std::memory_order_relaxed);
    if (before < hot_ns && before + took.count() >= hot_ns && on_hot) on_hot();
    return status;
  }
  const scalar::Program& program() const override { return *program_; }
  bool native() const override { return better_.load(std::memory_order_acquire) != nullptr; }

  /// Only the first replacement is used, because other threads may be running it.
  void replace(std::unique_ptr<scalar::Executable> better) {
    const std::lock_guard lock(replacing_);
    if (owned_) return;
    owned_ = std::move(better);
    better_.store(owned_.get(), std::memory_order_release);
  }
  const std::shared_ptr<const scalar::Program>& shared_program() const { return program_; }

  std::function<void()> on_hot;  ///< requests compiled code
  /// Waits for compiled code, or until the run must end.
  std::function<void(const scalar::Context&)> on_large_run;

 private:
  std::mutex replacing_;
  mutable std::atomic_flag asked_;
  std::shared_ptr<const scalar::Program> program_;
  std::unique_ptr<scalar::Executable> interpreted_;
  std::unique_ptr<scalar::Executable> owned_;
  mutable std::atomic<const scalar::Executable*> better_{nullptr};
  mutable std::atomic<std::int64_t> spent_{0};
};

namespace {

/// An executable that runs the code of an equal program, but has the error messages of its own
/// program.
class SharedCodeExecutable : public scalar::Executable {
 public:
  SharedCodeExecutable(std::shared_ptr<const scalar::Program> p,
                       std::shared_ptr<const TieredExecutable> code)
      : program_(std::move(p)), code_(std::move(code)) {}
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

}  // namespace

/// The executables in use, by the code of their programs. Thread-safe.
class TieredCompiler::CodeCache {
 public:
  /// The executable of an equal program, or `make()`.
  template <class Make>
  std::shared_ptr<TieredExecutable> get(const scalar::Program& p, Make&& make) {
    const scalar::CodeKey key = scalar::code_key(p);
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = made_.equal_range(key);
    for (auto it = begin; it != end; ++it)
      if (std::shared_ptr<TieredExecutable> t = it->second.lock(); t && same_code(t->program(), p))
        return t;
    if (made_.size() >= most_) forget_unused();
    std::shared_ptr<TieredExecutable> fresh = make();
    made_.emplace(key, fresh);
    return fresh;
  }

 private:
  void forget_unused() {
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    most_ = 2 * made_.size() + 64;
  }

  std::mutex mutex_;
  std::multimap<scalar::CodeKey, std::weak_ptr<TieredExecutable>> made_;
  std::size_t most_ = 64;
};

namespace {

/// Counts the threads of this process that are inside LLVM. A fork waits until there are none,
/// because LLVM's locks would stay locked in the child. The exit of the process waits until each
/// thread is between two passes, and stops it there, because LLVM's global data is destroyed next.
/// The object itself is never destroyed.
class LlvmThreads : ForkAware {
 public:
  static LlvmThreads& threads() {
    static auto* one = new LlvmThreads;
    return *one;
  }

  void enter() {
    std::unique_lock lock(state_->mutex);
    state_->changed.wait(lock, [this] { return !state_->forking && !state_->ending; });
    ++state_->inside;
  }
  void leave() {
    // Registered after LLVM's global data exists, so that it runs before the data is destroyed.
    static const int registered = std::atexit([] { threads().end(); });
    (void)registered;
    const std::lock_guard lock(state_->mutex);
    --state_->inside;
    state_->changed.notify_all();
  }
  /// Called between two LLVM passes; does not return if the process is exiting.
  void pass() {
    std::unique_lock lock(state_->mutex);
    if (!state_->ending) return;
    --state_->inside;
    state_->changed.notify_all();
    state_->changed.wait(lock, [] { return false; });
  }

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    int inside = 0;
    bool forking = false, ending = false;
  };

  LlvmThreads() {
    std::atexit([] { threads().end(); });
  }

  void before_fork() override {
    std::unique_lock lock(state_->mutex);
    state_->forking = true;
    state_->changed.wait(lock, [this] { return state_->inside == 0; });
  }
  void after_fork_in_parent() override {
    const std::lock_guard lock(state_->mutex);
    state_->forking = false;
    state_->changed.notify_all();
  }
  void after_fork_in_child() override { state_ = new State; }

  void end() {
    std::unique_lock lock(state_->mutex);
    state_->ending = true;
    state_->changed.wait(lock, [this] { return state_->inside == 0; });
  }

  State* state_ = new State;
  ForkRegistration registration_{*this};
};

}  // namespace

/// Compiling threads: one for hot programs, more if runs wait for programs. Compilation continues
/// if a run stops waiting. The threads may outlive the session: when it is destroyed, they drop
/// their work at LLVM's next pass, and nothing waits for them. The child of a fork starts with an
/// empty queue and threads of its own.
class TieredCompiler::BackgroundCompiler : ForkAware {
 public:
  using Tier = codegen::Compiler::Tier;

  explicit BackgroundCompiler(Tier tier) : tier_(tier) {}
  ~BackgroundCompiler() override { workers_->end(); }
  void after_fork_in_child() override {
    // The parent's object is leaked: its locks may be held by threads that do not exist here.
    new std::shared_ptr<Workers>(std::move(workers_));
    workers_ = std::make_shared<Workers>(compiler_, tier_);
  }

  void enqueue(std::weak_ptr<TieredExecutable> program) { workers_->add({std::move(program)}); }

  /// Returns when the program has been compiled, cannot be compiled, or the run must end.
  void compile_now(const std::weak_ptr<TieredExecutable>& program, const scalar::Context& run) {
    workers_->wait(program, [&run] {
      return run.stop != nullptr && run.stop->load(std::memory_order_relaxed) != 0;
    });
  }
  /// The same for the run that this thread prepares. Throws the compiler's error, or the
  /// cancellation of the run.
  void compile_now(const std::weak_ptr<TieredExecutable>& program) {
    const std::exception_ptr wrong = workers_->wait(program, [] {
      check_cancellation();
      return false;
    });
    if (wrong) std::rethrow_exception(wrong);
  }

 private:
  using Compiler = std::shared_ptr<const codegen::Compiler>;

  struct Outcome {
    bool done = false;
    std::exception_ptr wrong;
  };
  struct Job {
    std::weak_ptr<TieredExecutable> program;
    std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
    bool is_of(const std::weak_ptr<TieredExecutable>& p) const {
      return !program.owner_before(p) && !p.owner_before(program);
    }
  };

  class Workers : public std::enable_shared_from_this<Workers> {
   public:
    Workers(Compiler compiler, Tier tier) : compiler_(std::move(compiler)), tier_(tier) {}

    /// Busy threads stop at LLVM's next pass, idle threads at once.
    void end() {
      const std::lock_guard lock(mutex_);
      ending_ = true;
      queue_.clear();
      wake_.notify_all();
    }

    void add(Job job) {
      const std::lock_guard lock(mutex_);
      queue_.push_back(std::move(job));
      start_worker(1);
    }

    std::exception_ptr wait(const std::weak_ptr<TieredExecutable>& program,
                            const std::function<bool()>& ending) {
      std::unique_lock lock(mutex_);
      const std::shared_ptr<Outcome> outcome = outcome_soon(program);
      while (!outcome->done && !ending()) finished_.wait_for(lock, std::chrono::microseconds(500));
      return outcome->wrong;
    }

   private:
    /// The outcome of the job that compiles the program now or is put first in the queue. Requires
    /// the mutex.
    std::shared_ptr<Outcome> outcome_soon(const std::weak_ptr<TieredExecutable>& program) {
      const auto of_program = [&](const Job& job) { return job.is_of(program); };
      const auto now = std::ranges::find_if(under_way_, of_program);
      if (now != under_way_.end()) return now->outcome;
      Job job{program};
      if (const auto it = std::ranges::find_if(queue_, of_program); it != queue_.end()) {
        job = std::move(*it);
        queue_.erase(it);
      }
      queue_.push_front(job);
      start_worker(std::max(1u, std::thread::hardware_concurrency()));
      return job.outcome;
    }

    /// Wakes a thread for a new job; starts one if none is free and there are fewer than `most`.
    /// Requires the mutex.
    void start_worker(std::size_t most) {
      if (queue_.size() > free_ && threads_ < most) {
        named_thread("rondel-compile", [self = shared_from_this()]() mutable {
          work_for(std::move(self));
        }).detach();
        ++threads_;
        ++free_;
      }
      wake_.notify_one();
    }

    static void work_for(std::shared_ptr<Workers> self) {
      while (std::optional<Job> job = self->next()) {
        LlvmThreads::threads().enter();
        std::exception_ptr wrong;
        if (std::shared_ptr<TieredExecutable> program = job->program.lock())
          wrong = self->compile(*program);
        LlvmThreads::threads().leave();
        self->finish(*job, wrong);
      }
      LlvmThreads::threads().enter();
      self.reset();  // may destroy the compiler
      LlvmThreads::threads().leave();
    }

    std::optional<Job> next() {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return ending_ || !queue_.empty(); });
      --free_;
      if (ending_) return std::nullopt;
      Job job = std::move(queue_.front());
      queue_.pop_front();
      under_way_.push_back(job);
      return job;
    }

    void finish(const Job& job, std::exception_ptr wrong) {
      const std::lock_guard lock(mutex_);
      *job.outcome = {true, std::move(wrong)};
      std::erase_if(under_way_, [&](const Job& j) { return j.outcome == job.outcome; });
      ++free_;
      finished_.notify_all();
    }

    /// A program that cannot be compiled stays interpreted: the results are the same.
    std::exception_ptr compile(TieredExecutable& program) {
      if (program.native()) return nullptr;
      const auto wanted = [this] {
        LlvmThreads::threads().pass();
        return !ending_.load(std::memory_order_relaxed);
      };
      try {
        auto better = compiler_->compile(program.shared_program(), tier_, wanted);
        if (better) program.replace(std::move(better));
      } catch (const std::exception&) { return std::current_exception(); }
      return nullptr;
    }

    const Compiler compiler_;
    const Tier tier_;
    std::mutex mutex_;
    std::condition_variable wake_, finished_;
    std::deque<Job> queue_;
    std::vector<Job> under_way_;
    std::size_t threads_ = 0, free_ = 0;  ///< free: waiting for a job, or about to wait
    std::atomic<bool> ending_{false};
  };

  const Tier tier_;
  Compiler compiler_ = std::make_shared<const codegen::Compiler>();
  std::shared_ptr<Workers> workers_ = std::make_shared<Workers>(compiler_, tier_);
  ForkRegistration registration_{*this};
};

Execution execution_from_environment(Execution otherwise) {
  const char* jit = std::getenv("RONDEL_JIT");
  if (jit == nullptr || *jit == '\0') return otherwise;
  const std::string value = jit;
  if (value == "0") return Execution::interpreter;
  if (value == "1") return Execution::tiered;
  if (value == "2") return Execution::compiled;
  if (value == "quick") return Execution::quick;
  fail(
      "RONDEL_JIT is '{}'; expected 0 (interpreter), 1 (tiered), 2 (compiled at once) or quick "
      "(compiled at once, without optimisations)",
      value);
}

TieredCompiler::TieredCompiler(Execution execution, bool checked)
    : execution_(execution), checked_(checked), cache_(std::make_unique<CodeCache>()) {
  if (execution != Execution::interpreter)
    background_compiler_ = std::make_shared<BackgroundCompiler>(
        execution == Execution::quick ? codegen::Compiler::Tier::quick
                                      : codegen::Compiler::Tier::optimised);
}
TieredCompiler::~TieredCompiler() = default;

std::shared_ptr<const scalar::Executable> TieredCompiler::make(
    std::shared_ptr<const scalar::Program> p) {
  return checked_ ? checking_views(make_unchecked(scalar::with_checks(*p)))
                  : make_unchecked(std::move(p));
}

std::shared_ptr<const scalar::Executable> TieredCompiler::make_unchecked(
    std::shared_ptr<const scalar::Program> p) {
  if (execution_ == Execution::interpreter || !codegen::Compiler::refusal(*p).empty())
    return scalar::interpret(std::move(p));
  std::shared_ptr<TieredExecutable> code = cache_->get(*p, [&] { return tiered(p); });
  if (execution_ != Execution::tiered && !code->native()) background_compiler_->compile_now(code);
  if (code->shared_program() == p) return code;
  return std::make_shared<SharedCodeExecutable>(std::move(p), std::move(code));
}

std::shared_ptr<TieredExecutable> TieredCompiler::tiered(std::shared_ptr<const scalar::Program> p) {
  auto tiered = std::make_shared<TieredExecutable>(std::move(p));
  if (execution_ == Execution::compiled) return tiered;
  tiered->on_hot = [background = std::weak_ptr(background_compiler_),
                    self = std::weak_ptr(tiered)] {
    if (auto b = background.lock()) b->enqueue(self);
  };
  tiered->on_large_run = [background = std::weak_ptr(background_compiler_),
                          self = std::weak_ptr(tiered)](const scalar::Context& run) {
    if (const auto b = background.lock()) b->compile_now(self, run);
  };
  return tiered;
}

}  // namespace rondel::compile
