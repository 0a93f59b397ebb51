#include "compile/llvm_threads.h"

#include <rondel/shutdown.h>

#include <cstdlib>

namespace rondel::compile {

LlvmThreads& LlvmThreads::threads() {
  static auto* one = new LlvmThreads;
  return *one;
}

/// Made when the library is loaded: a fork must not find it half made.
[[maybe_unused]] static const LlvmThreads& made_early = LlvmThreads::threads();

LlvmThreads::LlvmThreads() { end_before_what_exists_now(); }

void LlvmThreads::end_before_what_exists_now() {
  std::atexit([] { threads().end(); });
}

bool LlvmThreads::exiting() {
  const std::lock_guard lock(state_->mutex);
  return state_->ending;
}

void LlvmThreads::enter() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return !state_->forking && !state_->ending; });
  ++state_->inside;
}

bool LlvmThreads::try_enter() {
  std::unique_lock lock(state_->mutex);
  state_->changed.wait(lock, [this] { return !state_->forking || state_->ending; });
  if (state_->ending) return false;
  ++state_->inside;
  return true;
}

void LlvmThreads::leave() {
  const std::lock_guard lock(state_->mutex);
  --state_->inside;
  state_->changed.notify_all();
}

void LlvmThreads::pass() {
  std::unique_lock lock(state_->mutex);
  if (!state_->ending) return;
  --state_->inside;
  state_->changed.notify_all();
  state_->changed.wait(lock, [] { return false; });
}

void LlvmThreads::before_fork() {
  std::unique_lock lock(state_->mutex);
  state_->forking = true;
  state_->changed.wait(lock, [this] { return state_->inside == 0; });
}

void LlvmThreads::after_fork_in_parent() {
  const std::lock_guard lock(state_->mutex);
  state_->forking = false;
  state_->changed.notify_all();
}

void LlvmThreads::end() {
  std::unique_lock lock(state_->mutex);
  state_->ending = true;
  state_->changed.notify_all();
  state_->changed.wait(lock, [this] { return state_->inside == 0; });
}

}  // namespace rondel::compile

namespace rondel {

void stop_compiling() { compile::LlvmThreads::threads().end(); }

}  // namespace rondel
