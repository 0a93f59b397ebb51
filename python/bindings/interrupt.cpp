#include "interrupt.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <array>
#include <csignal>

namespace {

/// The pipe that Python's signal handler writes to. It is made when first needed. The child of a
/// fork makes a new pipe, so that the parent does not read the child's signals.
struct Pipe {
  int read_end = -1, write_end = -1;
  bool in_use = false;

  bool ready() {
    if (read_end >= 0) return true;
    int ends[2];
    if (::pipe2(ends, O_NONBLOCK | O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  void forget() {
    if (read_end >= 0) ::close(read_end);
    // Another thread forked during a run: Python in the child still writes to this descriptor.
    const int nowhere = in_use ? ::open("/dev/null", O_WRONLY | O_NONBLOCK | O_CLOEXEC) : -1;
    if (nowhere >= 0) ::dup2(nowhere, write_end), ::close(nowhere);
    else if (write_end >= 0) ::close(write_end);
    *this = {};
  }
};

Pipe& wakeup_pipe() {
  static Pipe pipe;
  static const int registered = pthread_atfork(nullptr, nullptr, [] { wakeup_pipe().forget(); });
  (void)registered;
  return pipe;
}

/// Objects of Python's signal module, looked up once and kept until the process ends.
struct Signals {
  PyObject *getsignal, *set_wakeup_fd, *number, *raises, *none;
  unsigned long main_thread;

  /// Sets the wakeup descriptor. Returns the previous one, -1 if there was none.
  long write_to(PyObject* fd) const {
    PyObject* before = PyObject_CallFunctionObjArgs(set_wakeup_fd, fd, nullptr);
    const long number_before = before != nullptr ? PyLong_AsLong(before) : -1;
    Py_XDECREF(before);
    PyErr_Clear();
    return number_before;
  }
  void write_to(long fd) const {
    PyObject* number_of = PyLong_FromLong(fd);
    write_to(number_of);
    Py_DECREF(number_of);
  }

  static const Signals& get() {
    static const Signals one = [] {
      PyObject* signal = PyImport_ImportModule("_signal");
      PyObject* threading = PyImport_ImportModule("threading");
      PyObject* thread = PyObject_CallMethod(threading, "main_thread", nullptr);
      PyObject* ident = PyObject_GetAttrString(thread, "ident");
      return Signals{PyObject_GetAttrString(signal, "getsignal"),
                     PyObject_GetAttrString(signal, "set_wakeup_fd"),
                     PyLong_FromLong(SIGINT),
                     PyObject_GetAttrString(signal, "default_int_handler"),
                     PyLong_FromLong(-1),
                     PyLong_AsUnsignedLong(ident)};
    }();
    return one;
  }
};

bool is_main_thread(const Signals& s) {
  // In the child of a fork the thread that forked is the main thread, and has kept its identifier.
  static unsigned long forked = 0;
  static const int registered = pthread_atfork(nullptr, nullptr,
                                               [] { forked = PyThread_get_thread_ident(); });
  (void)registered;
  return PyThread_get_thread_ident() == (forked != 0 ? forked : s.main_thread);
}

bool raises_interrupt(const Signals& s) {
  PyObject* handler = PyObject_CallFunctionObjArgs(s.getsignal, s.number, nullptr);
  if (handler == nullptr) PyErr_Clear();
  Py_XDECREF(handler);
  return handler == s.raises;
}

}  // namespace

InterruptWatch::InterruptWatch() {
  const Signals& s = Signals::get();
  Pipe& pipe = wakeup_pipe();
  if (!is_main_thread(s) || pipe.in_use || !raises_interrupt(s) || !pipe.ready()) return;
  PyObject* end = PyLong_FromLong(pipe.write_end);
  const long before = s.write_to(end);
  Py_DECREF(end);
  on_ = pipe.in_use = before < 0;
  if (!on_) s.write_to(before);  // an event loop uses the descriptor and handles signals itself
}

InterruptWatch::~InterruptWatch() {
  if (!on_) return;
  Signals::get().write_to(Signals::get().none);
  wakeup_pipe().in_use = false;
}

void InterruptWatch::prepare() { Signals::get(); }

bool InterruptWatch::arrived() {
  std::array<unsigned char, 64> numbers;
  bool found = false;
  for (;;) {
    const ssize_t n = ::read(wakeup_pipe().read_end, numbers.data(), numbers.size());
    if (n <= 0) return found;
    for (ssize_t i = 0; i < n; ++i) found = found || numbers[static_cast<std::size_t>(i)] == SIGINT;
  }
}
