#include "session/code.h"

#include "base/error.h"
#include "codegen/compiler.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

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
    if (!native() && estimated_work(*program_, v) > most_interpreted && !asked_.test_and_set())
      on_large();
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

  std::function<void()> on_hot;    ///< asks for better code some time soon
  std::function<void()> on_large;  ///< waits for it

 private:
  std::mutex replacing_;
  mutable std::atomic_flag asked_;
  std::shared_ptr<const scalar::Program> program_;
  std::unique_ptr<scalar::Executable> interpreted_;
  std::unique_ptr<scalar::Executable> owned_;
  mutable std::atomic<const scalar::Executable*> better_{nullptr};
  mutable std::atomic<std::int64_t> spent_{0};
};

/// One thread that compiles what got hot, begun when something first does.
struct Code::Background {
  codegen::Compiler compiler;
  std::mutex mutex;
  std::condition_variable wake;
  std::deque<std::weak_ptr<Tiered>> queue;
  bool ending = false;
  std::thread thread;

  ~Background() {
    {
      const std::lock_guard lock(mutex);
      ending = true;
    }
    wake.notify_all();
    if (thread.joinable()) thread.join();
  }

  void enqueue(std::weak_ptr<Tiered> program) {
    const std::lock_guard lock(mutex);
    queue.push_back(std::move(program));
    if (!thread.joinable()) thread = std::thread([this] { work(); });
    wake.notify_one();
  }

  /// What cannot be compiled goes on being interpreted: the results are the same.
  void improve(Tiered& program) const {
    if (program.native()) return;
    try {
      program.replace(compiler.compile(program.shared_program()));
    } catch (const std::exception&) {}
  }

  void work() {
    pthread_setname_np(pthread_self(), "rondel-compile");
    std::unique_lock lock(mutex);
    while (true) {
      wake.wait(lock, [this] { return ending || !queue.empty(); });
      if (ending) return;
      const std::shared_ptr<Tiered> next = queue.front().lock();
      queue.pop_front();
      if (!next) continue;
      lock.unlock();
      improve(*next);
      lock.lock();
    }
  }
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

Code::Code(Execution execution) : execution_(execution) {
  if (execution != Execution::interpreter) background_ = std::make_shared<Background>();
}
Code::~Code() = default;

std::shared_ptr<const scalar::Executable> Code::make(std::shared_ptr<const scalar::Program> p) {
  if (execution_ == Execution::interpreter || !codegen::Compiler::refusal(*p).empty())
    return scalar::interpret(std::move(p));
  if (execution_ == Execution::compiled) return background_->compiler.compile(std::move(p));
  auto tiered = std::make_shared<Tiered>(std::move(p));
  tiered->on_hot = [background = std::weak_ptr(background_), self = std::weak_ptr(tiered)] {
    if (auto b = background.lock()) b->enqueue(self);
  };
  tiered->on_large = [background = std::weak_ptr(background_), self = std::weak_ptr(tiered)] {
    const auto b = background.lock();
    const auto program = self.lock();
    if (b && program) b->improve(*program);
  };
  return tiered;
}

}  // namespace rondel::session
