#include "compile/background_compiler.h"

#include "base/cancellation.h"
#include "base/error.h"
#include "base/named_thread.h"
#include "base/profiles.h"
#include "compile/llvm_threads.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <system_error>
#include <thread>
#include <vector>

namespace rondel::compile {
namespace {

/// The compilers of this process. Never destroyed: code may outlive all sessions.
const codegen::Compiler& compiler(bool divides_all = false) {
  static const auto* usual = new codegen::Compiler;
  if (!divides_all) return *usual;
  static const auto* dividing = new codegen::Compiler(true);
  return *dividing;
}

/// The key of the program's code on disk. nullopt: the code is not kept there; quick code is made
/// in less time than an entry is written in.
std::optional<codegen::Hash> key_on_disk(BackgroundCompiler::Disk disk,
                                         const scalar::Program& program,
                                         BackgroundCompiler::Tier tier) {
  if (disk == nullptr || tier == BackgroundCompiler::Tier::quick) return std::nullopt;
  return codegen::object_key(program, tier);
}

}  // namespace

/// The queue and its threads, which may outlive the BackgroundCompiler.
class BackgroundCompiler::Workers : public std::enable_shared_from_this<Workers> {
  struct Outcome {
    bool done = false;
    std::exception_ptr wrong;
  };

  struct Job {
    Program program;
    Tier tier;
    bool urgent = false;  ///< quick code, or a run waits for it
    std::shared_ptr<Outcome> outcome = std::make_shared<Outcome>();
    std::int64_t since = profiles_record() ? profile_clock() : 0;  ///< 0: no profile asks
    bool is_of(const Program& p, Tier t) const {
      return tier == t && !program.owner_before(p) && !p.owner_before(program);
    }
  };

 public:
  Workers(std::shared_ptr<CodeCache> compiled, Disk disk, bool divides_all)
      : compiled_(std::move(compiled)), disk_(disk), divides_all_(divides_all) {}

  /// Busy threads stop at LLVM's next pass, idle threads at once.
  void end() {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    queue_.clear();
    wake_.notify_all();
  }

  void add(Program program, Tier tier) {
    const std::lock_guard lock(mutex_);
    const bool quick = tier == Tier::quick;
    const auto place = quick ? std::ranges::find(queue_, Tier::optimised, &Job::tier)
                             : queue_.end();
    queue_.insert(place, {std::move(program), tier, quick});
    start_worker(quick ? 2 : 1);
  }

  std::exception_ptr wait(const Program& program, Tier tier, const std::function<bool()>& ending) {
    const ProfileScope scope(ProfileEvent::Kind::wait, name_for_profiles(program));
    std::unique_lock lock(mutex_);
    const std::shared_ptr<Outcome> outcome = outcome_soon(program, tier);
    while (!outcome->done && !ending() && !LlvmThreads::threads().exiting())
      finished_.wait_for(lock, std::chrono::microseconds(500));
    return outcome->wrong;
  }

 private:
  static std::string name_for_profiles(const Program& program) {
    const std::shared_ptr<TieredExecutable> held = profiles_record() ? program.lock() : nullptr;
    return held ? held->program().name : std::string();
  }

  /// The outcome of the job that compiles the program now or is put first in the queue. Requires
  /// the mutex.
  std::shared_ptr<Outcome> outcome_soon(const Program& program, Tier tier) {
    const auto of_program = [&](const Job& job) { return job.is_of(program, tier); };
    const auto now = std::ranges::find_if(under_way_, of_program);
    if (now != under_way_.end()) return now->outcome;
    Job job{program, tier, true};
    if (const auto it = std::ranges::find_if(queue_, of_program); it != queue_.end()) {
      job.outcome = it->outcome;
      job.since = it->since;
      queue_.erase(it);
    }
    queue_.push_front(job);
    start_worker(std::max(1u, std::thread::hardware_concurrency()));
    return job.outcome;
  }

  /// Wakes a thread for a new job; starts one if none is free and there are fewer than `most`.
  /// Requires the mutex.
  void start_worker(std::size_t most) {
    if (queue_.size() > free_ && threads_ < most) try {
        named_thread("rondel-compile", [self = shared_from_this()] { self->work(); }).detach();
        ++threads_;
        ++free_;
      } catch (const std::system_error& error) {
        if (threads_ == 0) drop_all(error.what());
      }
    wake_.notify_one();
  }

  /// There is no thread that could compile: programs stay interpreted. Requires the mutex.
  void drop_all(const char* reason) {
    const auto wrong = std::make_exception_ptr(Error(
        Blame::limit, fmt::format("no thread can be started to compile a program: {}", reason)));
    for (const Job& job : queue_) *job.outcome = {true, wrong};
    queue_.clear();
    finished_.notify_all();
  }

  void work() {
    while (const std::optional<Job> job = next()) {
      std::exception_ptr wrong;
      if (const std::shared_ptr<TieredExecutable> program = job->program.lock()) {
        if (job->since != 0 && profiles_record())
          add_to_profiles({ProfileEvent::Kind::queue, program->program().name, job->since,
                           profile_clock(), profile_thread()});
        wrong = compile(program, job->tier);
      }
      finish(*job, wrong);
    }
  }

  std::optional<Job> next() {
    std::unique_lock lock(mutex_);
    auto at = queue_.end();
    wake_.wait(lock, [&] { return ending_ || (at = next_allowed()) != queue_.end(); });
    --free_;
    if (ending_) return std::nullopt;
    Job job = std::move(*at);
    queue_.erase(at);
    under_way_.push_back(job);
    return job;
  }

  /// The first job of the queue that may begin now: of those that are not urgent only one is under
  /// way at a time, so that there is a thread for quick code.
  std::deque<Job>::iterator next_allowed() {
    const bool busy = !std::ranges::all_of(under_way_, &Job::urgent);
    return std::ranges::find_if(queue_, [&](const Job& job) { return job.urgent || !busy; });
  }

  void finish(const Job& job, std::exception_ptr wrong) {
    const std::lock_guard lock(mutex_);
    *job.outcome = {true, std::move(wrong)};
    std::erase_if(under_way_, [&](const Job& j) { return j.outcome == job.outcome; });
    ++free_;
    finished_.notify_all();
  }

  /// A program that cannot be compiled stays interpreted: the results are the same.
  std::exception_ptr compile(const std::shared_ptr<TieredExecutable>& program, Tier tier) {
    if (program->has(tier)) return nullptr;
    const ProfileScope scope(ProfileEvent::Kind::compile, program->program().name);
    const auto key = key_on_disk(disk_, program->program(), tier);
    const DiskCache::Object stored = key ? disk_().find(*key) : DiskCache::Object{};
    // What was thought to be there is not: the program is compiled when it is hot, like others.
    if (program->stop_expecting() && stored.empty()) return nullptr;
    const auto wanted = [&] {
      LlvmThreads::threads().pass();
      return !ending_.load(std::memory_order_relaxed) && program.use_count() > 1;
    };
    codegen::Compiler::Object made;
    std::exception_ptr wrong;
    LlvmThreads::threads().run([&] {
      try {
        auto native = linked(program->shared_program(), stored);
        if (!native) {
          warm_up(tier);
          made = compiler(divides_all_).assemble(program->program(), tier, wanted);
          if (!made.empty()) native = compiler(divides_all_).link(program->shared_program(), made);
        }
        if (native) program->replace(tier, std::move(native));
        else program->cancelled();
      } catch (const std::exception&) { wrong = std::current_exception(); }
    });
    if (program->settled()) compiled_->keep(program);
    if (key && !made.empty() && !wrong) disk_().add(*key, made);
    return wrong;
  }

  /// LLVM makes global data when it first compiles for a tier; what is compiled first is tiny, so
  /// that an exit hardly ever comes while that happens. Called inside LlvmThreads.
  static void warm_up(Tier tier) {
    static std::atomic<bool> warm[2];
    if (warm[static_cast<int>(tier)].exchange(true)) return;
    compiler().warm_up(tier);
    LlvmThreads::end_before_what_exists_now();
  }

  /// Null if there is no object, or none that can be linked.
  static std::unique_ptr<scalar::Executable> linked(
      const std::shared_ptr<const scalar::Program>& program, const DiskCache::Object& object) {
    if (object.empty()) return nullptr;
    try {
      auto code = compiler().link(program, object);
      static std::atomic<bool> linked_before = false;
      if (!linked_before.exchange(true)) LlvmThreads::end_before_what_exists_now();
      return code;
    } catch (const Error&) { return nullptr; }
  }

  const std::shared_ptr<CodeCache> compiled_;
  const Disk disk_;
  const bool divides_all_;
  std::mutex mutex_;
  std::condition_variable wake_, finished_;
  std::deque<Job> queue_;
  std::vector<Job> under_way_;
  std::size_t threads_ = 0, free_ = 0;  ///< free: waiting for a job, or about to wait
  std::atomic<bool> ending_{false};
};

BackgroundCompiler::BackgroundCompiler(std::shared_ptr<CodeCache> compiled, Disk disk,
                                       bool divides_all)
    : compiled_(std::move(compiled)), disk_(disk), divides_all_(divides_all),
      workers_(std::make_shared<Workers>(compiled_, disk_, divides_all)) {}

BackgroundCompiler::~BackgroundCompiler() { workers_->end(); }

void BackgroundCompiler::after_fork_in_child() {
  // The parent's object is leaked: its locks may be held by threads that do not exist here.
  new std::shared_ptr<Workers>(std::move(workers_));
  workers_ = std::make_shared<Workers>(compiled_, disk_, divides_all_);
}

bool BackgroundCompiler::is_on_disk(const scalar::Program& program) const {
  if (disk_ == nullptr || !disk_().is_used()) return false;
  const auto key = key_on_disk(disk_, program, Tier::optimised);
  return key && disk_().has(*key);
}

void BackgroundCompiler::enqueue(Program program, Tier tier) {
  workers_->add(std::move(program), tier);
}

void BackgroundCompiler::compile_now(const Program& program, Tier tier,
                                     const scalar::Context& run) {
  workers_->wait(program, tier, [&run] {
    return run.stop != nullptr && run.stop->load(std::memory_order_relaxed) != 0;
  });
}

void BackgroundCompiler::compile_now(const std::shared_ptr<TieredExecutable>& program) {
  const std::exception_ptr wrong = workers_->wait(program, program->last(), [] {
    check_cancellation();
    return false;
  });
  if (wrong) std::rethrow_exception(wrong);
}

}  // namespace rondel::compile
