#pragma once
#include <Python.h>

/// Makes Ctrl-C end a run of the main thread.
///
/// Python calls signal handlers only in its main thread, between two bytecode instructions, and a
/// whole run is one instruction. Running on another thread while the main thread polls would cost a
/// thread switch in every run. `signal.set_wakeup_fd`, which is made for native code, costs a
/// microsecond or two: during the run Python's C handler writes the signal number to our pipe, and
/// the watchdog reads the pipe from time to time. The watch is active only if SIGINT raises
/// KeyboardInterrupt: whether another handler wants to end the run is unknown until it is called.
class InterruptWatch {
 public:
  /// Needs the GIL.
  InterruptWatch();
  ~InterruptWatch();
  InterruptWatch(const InterruptWatch&) = delete;
  InterruptWatch& operator=(const InterruptWatch&) = delete;

  /// Whether the watch is active: this is the main thread, and SIGINT raises KeyboardInterrupt.
  bool on() const { return on_; }
  /// Whether SIGINT has arrived since the last call. From any thread, without the GIL.
  static bool arrived();
  /// Looks up Python's functions and objects. Called when the module is loaded, because a signal
  /// may interrupt a later look-up.
  static void prepare();

 private:
  bool on_ = false;
};
