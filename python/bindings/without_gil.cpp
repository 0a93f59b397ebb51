#include "without_gil.h"

#include <rondel/error.h>
#include <rondel/shutdown.h>

#include <cxxabi.h>
#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rondel::python {
namespace {

std::atomic<int> in_engine{0};
std::atomic<bool> ended{false};

void wait_for_engine() {
  using namespace std::chrono;
  ended = true;
  stop_compiling();
  const auto latest = steady_clock::now() + seconds(5);
  while (in_engine > 0 && steady_clock::now() < latest)
    std::this_thread::sleep_for(milliseconds(1));
}

}  // namespace

void enter_engine() { ++in_engine; }

/// Forced unwinding binds the caught reference to null, which a sanitizer would report.
[[gnu::no_sanitize("null")]] void reacquire_gil(PyThreadState* thread) {
  --in_engine;
  try {
    PyEval_RestoreThread(thread);
  } catch (const abi::__forced_unwind&) {
    while (true) ::pause();  // leaving this block without rethrowing would abort
  }
}

[[gnu::no_sanitize("null")]] WithGil::WithGil() {
  if (interpreter_ended()) throw Error(Blame::cancelled, "the interpreter is ending");
  try {
    state_ = PyGILState_Ensure();
  } catch (const abi::__forced_unwind&) {
    --in_engine;
    while (true) ::pause();  // leaving this block without rethrowing would abort
  }
}

bool interpreter_ended() { return ended.load(std::memory_order_relaxed); }

void install_exit_handlers() {
  Py_AtExit(wait_for_engine);
  pthread_atfork(nullptr, nullptr, [] { in_engine = 0; });  // the child has only the forking thread
}

}  // namespace rondel::python
