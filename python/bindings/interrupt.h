#pragma once
#include <Python.h>

/// Ctrl-C while the main thread is inside a run.
///
/// Python only calls signal handlers in its main thread, between two of its instructions, and a run
/// is one instruction however long it takes. Running elsewhere while the main thread polls would
/// cost a change of threads in every run; Python's own way to tell native code of signals
/// (`signal.set_wakeup_fd`) costs a microsecond or two: while the run goes on its C handler writes
/// the signal's number to a pipe of ours, which the watchdog reads now and then. Only where SIGINT
/// is to raise KeyboardInterrupt: whether another handler means the run to end is not known before
/// it has been called.
class InterruptWatch {
 public:
  /// With the GIL.
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether there is anything to ask: this is the main thread and SIGINT raises.
  bool on() const { return on_; }
  /// Whether SIGINT has arrived. From any thread, without the GIL.
  static bool arrived();
  /// Looks up what of Python's is needed; when the module is made, since a signal may end it.
  static void prepare();

 private:
  bool on_ = false;
};
