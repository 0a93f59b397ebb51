#pragma once
#include <Python.h>

#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#ifdef Py_LIMITED_API
/// Each CPython since 3.4 exports it, although the stable ABI does not list it.
extern "C" int PyGILState_Check(void);
#endif

namespace rondel::python {

/// Counts this thread as one in the engine. When the interpreter ends, it waits a few seconds for
/// such threads, because objects that they use are destroyed afterwards.
void enter_engine();
/// Takes the GIL back. If the interpreter is ending, it would terminate this thread by unwinding
/// its stack, which neither nanobind nor destructors survive; the thread then blocks here until the
/// process is gone, as Python itself does from 3.14 on.
void reacquire_gil(PyThreadState* thread);
/// Whether the interpreter is ending. Runs of daemon threads are then ended, too.
bool interpreter_ended();
/// Registers the handlers for the end of the interpreter and for forks. Called once, when the
/// module is loaded.
void install_exit_handlers();

/// Holds the GIL in a callback of the engine. Throws Error(cancelled) if the interpreter is ending;
/// blocks as `reacquire_gil` does.
class WithGil {
 public:
  WithGil();
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

/// Calls `f`, which must return a value, without the GIL. Returns or throws what `f` does.
template <class F> auto without_gil(const F& f) {
  std::optional<std::invoke_result_t<F>> result;
  std::exception_ptr failure;
  enter_engine();
  PyThreadState* const thread = PyEval_SaveThread();
  try {
    result.emplace(f());
  } catch (...) { failure = std::current_exception(); }
  reacquire_gil(thread);
  if (failure) std::rethrow_exception(failure);
  return std::move(*result);
}

}  // namespace rondel::python
