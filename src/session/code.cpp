#include "session/code.h"

#include "base/error.h"
#include "base/fork.h"
#include "base/look.h"
#include "codegen/compiler.h"
#include "scalar/same_code.h"

#include <pthread.h>

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
#include <shared_mutex>
#include <thread>
#include <vector>

namespace rondel::session {
namespace {

/// A program is compiled once interpreting it has taken this long in all: about what compiling
/// takes.
constexpr std::int64_t hot_ns = 2'000'000;
/// A run of about this many instructions is not begun by the interpreter: compiling costs less.
constexpr double most_interpreted = 1e7;

/// About how many instructions one run (of a loop: one trip) takes, from the extents it is bound
/// to.
double estimated_work(const scalar::Program& p, const scalar::View* views) {
  double elements = 1, longest = 1;
  for (std::size_t b = 0; b < p.binding_count(); ++b) {
    double count = 1;
    for (std::int64_t a = 0; a < p.buffers[b].rank(); ++a) {
      const auto extent = static_cast<double>(views[b].extents[a]);
      count *= extent;
      longest = std::max(longest, extent);
    }
    elements = std::max(elements, count);
  }
  const double per_element = p.contracts.empty() ? static_cast<double>(p.code.size()) : longest;
  return elements * per_element;
}

}  // namespace

/// Programs that run while something better is made of them.
class Tiered : public scalar::Executable {
 public:
  explicit Tiered(std::shared_ptr<const scalar::Program> p)
      : program_(std::move(p)), interpreted_(scalar::interpret(program_)) {}

  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    if (!native() && estimated_work(*program_, v) > most_interpreted && on_large &&
        !asked_.test_and_set())
      on_large(c);
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

  /// The first to come stays: others may be running it.
  void replace(std::unique_ptr<scalar::Executable> better) {
    const std::lock_guard lock(replacing_);
    if (owned_) return;
    owned_ = std::move(better);
    better_.store(owned_.get(), std::memory_order_release);
  }
  const std::shared_ptr<const scalar::Program>& shared_program() const { return program_; }

  std::function<void()> on_hot;  ///< asks for better code some time soon
  /// Waits for it, unless the run is to end.
  std::function<void(const scalar::Context&)> on_large;

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

/// A program that runs the code of one that does the same, and fails with its own messages.
class Like : public scalar::Executable {
 public:
  Like(std::shared_ptr<const scalar::Program> p, std::shared_ptr<const Tiered> code)
      : program_(std::move(p)), code_(std::move(code)) {}
  scalar::Status run(scalar::Context& c, const scalar::View* v,
                     const std::int64_t* params) const override {
    return code_->run(c, v, params);
  }
  const scalar::Program& program() const override { return *program_; }
  bool native() const override { return code_->native(); }

 private:
  std::shared_ptr<const scalar::Program> program_;
  std::shared_ptr<const Tiered> code_;
};

}  // namespace

/// What has been made of programs and is in use.
class Code::Shared {
 public:
  /// That of a program which does the same, or `make()`.
  template <class Make> std::shared_ptr<Tiered> get(const scalar::Program& p, Make&& make) {
    const scalar::CodeKey key = scalar::code_key(p);
    const std::lock_guard lock(mutex_);
    const auto [begin, end] = made_.equal_range(key);
    for (auto it = begin; it != end; ++it)
      if (std::shared_ptr<Tiered> t = it->second.lock(); t && same_code(t->program(), p)) return t;
    if (made_.size() >= most_) forget_unused();
    std::shared_ptr<Tiered> fresh = make();
    made_.emplace(key, fresh);
    return fresh;
  }

 private:
  void forget_unused() {
    std::erase_if(made_, [](const auto& entry) { return entry.second.expired(); });
    most_ = 2 * made_.size() + 64;
  }

  std::mutex mutex_;
  std::multimap<scalar::CodeKey, std::weak_ptr<Tiered>> made_;
  std::size_t most_ = 64;
};

/// Threads that compile: one for what got hot, more where runs wait for what is large. The work
/// goes on when a run stops waiting. A fork waits until nothing is being compiled, since LLVM's
/// locks would stay locked in the child, which begins with an empty queue and threads of its own.
class Code::Background : ForkAware {
 public:
  codegen::Compiler compiler;

  ~Background() override { delete workers_; }
  void before_fork() override { workers_->compiling.lock(); }
  void after_fork_in_parent() override { workers_->compiling.unlock(); }
  void after_fork_in_child() override { workers_ = new Workers(*this); }

  void enqueue(std::weak_ptr<Tiered> program) { workers_->add({std::move(program)}, false); }

  /// Returns when it is compiled, cannot be, or the run is to end.
  void compile_now(std::weak_ptr<Tiered> program, const scalar::Context& run) {
    workers_->wait(std::move(program), [&run] {
      return run.stop != nullptr && run.stop->load(std::memory_order_relaxed) != 0;
    });
  }
  /// Throws what compiling threw, or where the run that this thread prepares is to end.
  void compile_now(std::weak_ptr<Tiered> program) {
    const std::exception_ptr wrong = workers_->wait(std::move(program), [] {
      look_around();
      return false;
    });
    if (wrong) std::rethrow_exception(wrong);
  }

 private:
  struct Outcome {
    bool done = false;
    std::exception_ptr wrong;
  };
  struct Job {
    std::weak_ptr<Tiered> program;
    std::shared_ptr<Outcome> outcome = nullptr;  ///< of jobs that a run waits for
  };

  struct Workers {
    explicit Workers(const Background& b) : background(b) {}
    ~Workers() {
      {
        const std::lock_guard lock(mutex);
        ending = true;
      }
      wake.notify_all();
      for (std::thread& t : threads) t.join();
    }

    void add(Job job, bool first) {
      const std::lock_guard lock(mutex);
      const std::size_t most = first ? std::max(1u, std::thread::hardware_concurrency()) : 1;
      first ? queue.push_front(std::move(job)) : queue.push_back(std::move(job));
      if (queue.size() > idle && threads.size() < most) threads.emplace_back([this] { work(); });
      wake.notify_one();
    }

    std::exception_ptr wait(std::weak_ptr<Tiered> program, const std::function<bool()>& ending) {
      const auto outcome = std::make_shared<Outcome>();
      add({std::move(program), outcome}, true);
      std::unique_lock lock(mutex);
      while (!outcome->done && !ending()) finished.wait_for(lock, std::chrono::microseconds(500));
      return outcome->wrong;
    }

    void work() {
      pthread_setname_np(pthread_self(), "rondel-compile");
      std::unique_lock lock(mutex);
      while (true) {
        ++idle;
        wake.wait(lock, [this] { return ending || !queue.empty(); });
        --idle;
        if (ending) return;
        const Job job = std::move(queue.front());
        queue.pop_front();
        lock.unlock();
        std::exception_ptr wrong;
        if (const std::shared_ptr<Tiered> program = job.program.lock()) wrong = improve(*program);
        lock.lock();
        if (job.outcome) *job.outcome = {true, wrong};
        finished.notify_all();
      }
    }

    /// What cannot be compiled goes on being interpreted: the results are the same.
    std::exception_ptr improve(Tiered& program) {
      const std::shared_lock lock(compiling);
      if (program.native()) return nullptr;
      try {
        program.replace(background.compiler.compile(program.shared_program()));
      } catch (const std::exception&) { return std::current_exception(); }
      return nullptr;
    }

    const Background& background;
    std::shared_mutex compiling;
    std::mutex mutex;
    std::condition_variable wake, finished;
    std::deque<Job> queue;
    std::size_t idle = 0;
    bool ending = false;
    std::vector<std::thread> threads;
  };

  Workers* workers_ = new Workers(*this);
};

Execution execution_from_environment(Execution otherwise) {
  const char* jit = std::getenv("RONDEL_JIT");
  if (jit == nullptr || *jit == '\0') return otherwise;
  const std::string value = jit;
  if (value == "0") return Execution::interpreter;
  if (value == "1") return Execution::tiered;
  if (value == "2") return Execution::compiled;
  fail("RONDEL_JIT is '{}'; expected 0 (interpreter), 1 (tiered) or 2 (compiled at once)", value);
}

Code::Code(Execution execution) : execution_(execution), shared_(std::make_unique<Shared>()) {
  if (execution != Execution::interpreter) background_ = std::make_shared<Background>();
}
Code::~Code() = default;

std::shared_ptr<const scalar::Executable> Code::make(std::shared_ptr<const scalar::Program> p) {
  if (execution_ == Execution::interpreter || !codegen::Compiler::refusal(*p).empty())
    return scalar::interpret(std::move(p));
  std::shared_ptr<Tiered> code = shared_->get(*p, [&] { return tiered(p); });
  if (execution_ == Execution::compiled && !code->native()) background_->compile_now(code);
  if (code->shared_program() == p) return code;
  return std::make_shared<Like>(std::move(p), std::move(code));
}

std::shared_ptr<Tiered> Code::tiered(std::shared_ptr<const scalar::Program> p) {
  auto tiered = std::make_shared<Tiered>(std::move(p));
  if (execution_ == Execution::compiled) return tiered;
  tiered->on_hot = [background = std::weak_ptr(background_), self = std::weak_ptr(tiered)] {
    if (auto b = background.lock()) b->enqueue(self);
  };
  tiered->on_large = [background = std::weak_ptr(background_),
                      self = std::weak_ptr(tiered)](const scalar::Context& run) {
    if (const auto b = background.lock()) b->compile_now(self, run);
  };
  return tiered;
}

}  // namespace rondel::session
