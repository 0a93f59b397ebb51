#include "compile/tiered_executable.h"

#include "compile/llvm_threads.h"
#include "compile/work_estimate.h"

#include <chrono>

namespace rondel::compile {
namespace {

/// Time without a tier's code after which the code is worth compiling.
constexpr std::int64_t worth_quick_ns = 100'000, worth_best_ns = 2'000'000;
/// A run that may be of more instructions than this waits for quick code, and one that certainly is
/// for the best code, because compiling costs less.
constexpr double most_interpreted = 1e7, most_quick = 1e9;
/// The same if the best code only has to be linked.
constexpr double most_without_linked = 2e4;

}  // namespace

TieredExecutable::TieredExecutable(std::shared_ptr<const scalar::Program> program, Tier last)
    : program_(std::move(program)), last_(last), interpreted_(scalar::interpret(program_)) {}

TieredExecutable::~TieredExecutable() {
  for (Native* native : {&quick_, &best_}) {
    if (!native->owned) continue;
    scalar::Executable* code = native->owned.release();  // leaked if the process is exiting
    LlvmThreads::threads().run_unless_exiting([code] { delete code; });
  }
}

scalar::Status TieredExecutable::run(scalar::Context& c, const scalar::View* v,
                                     const std::int64_t* params) const {
  c.interpreted = false;
  if (const scalar::Executable* best = best_.code.load(std::memory_order_acquire)) [[likely]]
    return best->run(c, v, params);
  wait_if_large(c, v, params);
  const scalar::Executable& code = code_now();
  c.interpreted = !code.native();
  const auto begin = std::chrono::steady_clock::now();
  const scalar::Status status = code.run(c, v, params);
  count(std::chrono::nanoseconds(std::chrono::steady_clock::now() - begin).count());
  return status;
}

bool TieredExecutable::has(Tier tier) const {
  return best_.code.load(std::memory_order_acquire) != nullptr ||
         of(tier).code.load(std::memory_order_acquire) != nullptr;
}

const scalar::Executable& TieredExecutable::code_now() const {
  for (const Native* native : {&best_, &quick_})
    if (const scalar::Executable* code = native->code.load(std::memory_order_acquire)) return *code;
  return *interpreted_;
}

/// Each code is waited for once: if the wait was ended, a later run shall not wait, too.
void TieredExecutable::wait_if_large(scalar::Context& c, const scalar::View* v,
                                     const std::int64_t* params) const {
  const bool may_wait = on_large_run && (!best_.waited_for.test() || !quick_.waited_for.test());
  if (!may_wait) return;
  const Work work = estimated_work(*program_, v, params);
  const bool soon = soon_.load(std::memory_order_relaxed);
  const bool wants_best = (soon ? work.most > most_without_linked : work.least > most_quick) &&
                          !settled();
  const bool wants_quick = !soon && work.most > most_interpreted && !has(Tier::quick);
  if (wants_quick && !of(Tier::quick).waited_for.test_and_set()) on_large_run(Tier::quick, c);
  if (wants_best && !best_.waited_for.test_and_set()) on_large_run(last_, c);
}

/// Adds to the time spent without the best code; requests what has become worth it.
void TieredExecutable::count(std::int64_t ns) const {
  const std::int64_t before = spent_.fetch_add(ns, std::memory_order_relaxed), now = before + ns;
  if (!on_hot) return;
  const auto reached = [&](std::int64_t limit) { return before < limit && now >= limit; };
  if (reached(worth_quick_ns) && !soon_ && !has(Tier::quick)) on_hot(Tier::quick);
  if (reached(worth_best_ns) && !settled()) on_hot(last_);
}

bool TieredExecutable::stop_expecting() {
  if (!soon_.exchange(false)) return false;
  quick_.waited_for.clear();
  best_.waited_for.clear();
  return true;
}

void TieredExecutable::replace(Tier tier, std::unique_ptr<scalar::Executable> code) {
  const std::lock_guard lock(replacing_);
  Native& native = tier == last_ ? best_ : quick_;
  if (native.owned) return;
  native.owned = std::move(code);
  native.code.store(native.owned.get(), std::memory_order_release);
}

void TieredExecutable::cancelled() {
  spent_.store(0, std::memory_order_relaxed);
  quick_.waited_for.clear();
  best_.waited_for.clear();
}

}  // namespace rondel::compile
