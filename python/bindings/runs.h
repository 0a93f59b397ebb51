// Runs that are started from Python: their options, and how Ctrl-C ends them.
#pragma once
#include "bindings.h"
#include "interrupt.h"
#include "without_gil.h"

#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <vector>

namespace rondel::python {

/// RunOptions with a flag, which any thread may set, and which a copy of the options may share.
struct PyRunOptions {
  std::optional<double> deadline;
  std::uint64_t seed = 0;
  std::int64_t max_trips = RunOptions().max_trips;
  std::size_t max_memory_bytes = RunOptions().max_memory_bytes;
  std::shared_ptr<std::atomic<bool>> terminate = std::make_shared<std::atomic<bool>>(false);
};

/// Calls `run` with these options, without the GIL, and returns its result. Throws
/// KeyboardInterrupt if Ctrl-C ended the run, or came too late to end it.
auto run_interruptibly(RunOptions& o, const auto& run) {
  std::optional<std::invoke_result_t<decltype(run), RunOptions&>> results;
  std::exception_ptr failure;
  bool interruptible = false;
  {
    const InterruptWatch watch;
    interruptible = watch.on();
    o.interrupted = interruptible ? &InterruptWatch::arrived : &interpreter_ended;
    // A signal that arrived before the watch began would be handled only after the run.
    if (interruptible && PyErr_CheckSignals() != 0) throw nanobind::python_error();
    try {
      results.emplace(without_gil([&] { return run(o); }));
    } catch (...) { failure = std::current_exception(); }
  }
  release_orphans();
  if (interruptible && PyErr_CheckSignals() != 0) {
    InterruptWatch::arrived();  // empties the pipe: this signal is handled
    throw nanobind::python_error();
  }
  if (failure && interruptible) InterruptWatch::arrived();  // a function may have handled a signal
  if (failure) std::rethrow_exception(failure);
  return std::move(*results);
}

/// Calls `run` with the options from Python (null: the defaults) and converts its results.
nanobind::list unpacked_results(PyRunOptions* options, const auto& run) {
  RunOptions o;
  if (options != nullptr) {
    o.deadline = options->deadline;
    o.seed = options->seed;
    o.max_trips = options->max_trips;
    o.max_memory_bytes = options->max_memory_bytes;
    o.terminate = options->terminate.get();
  }
  const std::vector<Value> results = run_interruptibly(o, run);
  nanobind::list unpacked;
  for (const Value& v : results) unpacked.append(to_python(v));
  return unpacked;
}

/// Runs a session or a model that was compiled ahead of time. `convert`: see `values_of`.
template <class Model>
nanobind::list run_fed(const Model& model, const std::vector<std::string>& outputs,
                       const nanobind::dict& given, const nanobind::callable& convert,
                       PyRunOptions* options) {
  const std::map<std::string, Value> feeds = values_of(given, convert);
  return unpacked_results(options,
                          [&](const RunOptions& o) { return model.run(outputs, feeds, o); });
}

}  // namespace rondel::python
