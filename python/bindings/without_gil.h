#pragma once
#include <Python.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace rondel::python {

/// Counts the threads that are in the engine, so that the end of the interpreter waits for them,
/// for a few seconds: what they use is destroyed after it.
void enter_engine();
/// Goes on with the GIL, or not at all: where the interpreter is ending, it ends a thread that asks
/// for the GIL by unwinding it, which neither nanobind nor a destructor survives. Such a thread
/// stays where it is until the process is gone, as Python itself does it from 3.14 on.
void take_gil_again(PyThreadState* thread);
/// Whether the interpreter is at its end: then runs of daemon threads are ended, too.
bool interpreter_ended();
/// Once, when the module is made.
void watch_for_end();

/// What `f` gives or throws; meanwhile this thread does not hold the GIL. `f` gives something.
template <class F> auto without_gil(const F& f) {
  std::optional<std::invoke_result_t<F>> result;
  std::exception_ptr failure;
  enter_engine();
  PyThreadState* const thread = PyEval_SaveThread();
  try {
    result.emplace(f());
  } catch (...) { failure = std::current_exception(); }
  take_gil_again(thread);
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

}  // namespace rondel::python
