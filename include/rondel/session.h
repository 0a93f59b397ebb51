#pragma once
#include <rondel/error.h>
#include <rondel/export.h>
#include <rondel/handle.h>
#include <rondel/profile.h>
#include <rondel/tensor.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace rondel {

/// A diagnostic about a model, as `rondel check` prints it. An error keeps the model from running;
/// a warning names something that other runtimes interpret differently.
struct Finding {
  enum class Level { note, warning, error } level;
  std::string where, message;
};

/// How a model is compiled, and its limits. A value out of range throws Error(caller) when a
/// session is made.
struct SessionOptions {
  /// Threads that share a large op or a loop; 0: one per core. Results do not depend on it. All
  /// sessions share one pool of threads, and a run gets no help from it while as many runs are at
  /// work as there are cores. With 1, a run starts no threads of its own. The process still has
  /// three threads for all sessions: one compiles, one watches deadlines, and one returns large
  /// blocks of memory to the system.
  int intra_op_num_threads = 0;
  /// onnxruntime's numbers: 0 none, 1 basic, 2 extended, 3 layout, 99 all. All but 0 do the same
  /// here.
  int graph_optimization_level = 99;
  /// The most bytes that all runs of the session may hold at once, not counting feeds, weights and
  /// returned outputs. Checked before each allocation; for the text of strings, after it.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
  /// The most trips of any one loop, 0 or more. A further trip is an error and does not begin.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// The meaning of a body's cond if the Loop's own cond is "": "spec" ignores the body's cond,
  /// "honour" stops the loop on it.
  std::string loop_cond = "spec";
  /// False: only the interpreter runs, no generated code. RONDEL_JIT=0 in the environment does the
  /// same.
  bool jit = true;
  /// True: no contraction to fma, and the reference kernels instead of the fast ones.
  bool strict = false;
  /// True: floating-point arithmetic takes subnormal operands and results for zero (onnxruntime's
  /// session.set_denormal_as_zero). Numbers that fade away in a long loop, and their gradients,
  /// pass through subnormal ones, for which processors take many times as long.
  bool denormals_as_zero = false;
  /// The folder from which external data of a model given as bytes may be read.
  std::optional<std::filesystem::path> external_data_dir = {};
  /// Called with each warning when a session is made or a model is exported. Not set: each warning
  /// is printed as a line on stderr.
  std::function<void(const Finding&)> on_warning = {};
  /// Records what takes time: making the session, its runs, and what is compiled meanwhile. Null:
  /// nothing is recorded.
  std::shared_ptr<Profile> profile = {};
};

/// The limits of one run, and its seed.
struct RunOptions {
  /// Seconds from the start of the run, 0 or more. None: no deadline.
  std::optional<double> deadline = {};
  /// Set to true from any thread to end the run with Error(cancelled) within a millisecond.
  std::atomic<bool>* terminate = nullptr;
  /// Called about every 20 ms during the run, on another thread; returning true ends the run with
  /// Error(cancelled). For signals and other events that set no flag. Must not block or throw.
  std::function<bool()> interrupted = {};
  /// Seed of the random ops.
  std::uint64_t seed = 0;
  /// The most trips of any one loop of this run, 0 or more. The session's own limit holds, too.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// The most bytes that this run may hold at once, counted as in SessionOptions, whose limit for
  /// all runs holds, too.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
};

/// An input or output of a model. `type` is in ONNX's notation, such as "tensor(float)". `shape`
/// holds a number, a symbolic name, or an empty string (unknown) for each extent. It is absent if
/// the rank is unknown, and for sequences. For an optional, it is the shape of the tensor that the
/// optional may hold.
struct PortInfo {
  std::string name = {};
  std::string type = {};
  std::optional<std::vector<std::string>> shape = {};
  bool has_default = false;  ///< an optional input: the default value is an initializer
  /// An output that is a list of maps in the model's file (ZipMap): their keys, i64 or strings. The
  /// value of the output is a matrix with a row for each map and a column for each key.
  Tensor map_keys = {};
};

/// The metadata in the file of a model.
struct ModelInfo {
  std::string graph_name, producer_name, domain, description, graph_description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom_metadata;
};

namespace session {
struct FromGraph;  // makes sessions for front ends that have no model file
}

/// A compiled model. Safe to run from many threads at once.
class RONDEL_API Session {
 public:
  /// Reads an ONNX file. Throws Error: `caller` for a file that cannot be read or is not a valid
  /// model, and for options out of range; `unsupported` for an op or type that Rondel does not run.
  /// The message names the node.
  explicit Session(const std::filesystem::path& model, const SessionOptions& = {});
  /// Reads a serialized ONNX ModelProto. The bytes need not outlive the call. (A std::string is a
  /// path; of one that holds a model, pass `std::as_bytes(std::span(text))`.)
  explicit Session(std::span<const std::byte> model, const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// In the model's order. The references are valid as long as the session.
  const std::vector<PortInfo>& inputs() const;
  const std::vector<PortInfo>& outputs() const;
  const ModelInfo& info() const;

  /// Returns all outputs by name. Inputs that have a default in the model may be left out; so may
  /// inputs of optional type, which are then empty. An undefined value leaves an input out. Outputs
  /// never alias inputs, weights or each other. Feeds are read in place, with any strides, and
  /// never written.
  ///
  /// Throws Error: `caller` for a feed that is missing, unknown or of another type or shape than
  /// the model declares, and for data that an op does not accept (an index out of range); `limit`,
  /// `deadline` and `cancelled` as the options say. The session stays usable after these errors.
  std::map<std::string, Value> run(const std::map<std::string, Value>& feeds,
                                   const RunOptions& = {}) const;
  /// Returns the named outputs, in the requested order; empty: all, in the model's order.
  std::vector<Value> run(std::span<const std::string> outputs,
                         const std::map<std::string, Value>& feeds, const RunOptions& = {}) const;

  /// Returns all outputs, in the model's order. `inputs`: one value for each of inputs(), in that
  /// order; an undefined value leaves an input out. Faster than `run`: no names are looked up.
  std::vector<Value> run_in_order(std::span<const Value> inputs, const RunOptions& = {}) const;
  /// Whether a run draws random numbers, so that `RunOptions::seed` matters.
  bool draws() const;

  /// How each loop and `if` that has run was executed, by its node, for the latest shapes that it
  /// ran with: "natively, as a whole"; "as a whole, interpreted: " and the reason; or "step by
  /// step: " and the reason. A loop or `if` inside one that runs as a whole is not listed. Without
  /// jit the map is empty. `tiers`: a text tells also how many trips of the latest run were
  /// interpreted, because native code was not ready: "natively, as a whole; of the latest run's 200
  /// trips 50 interpreted".
  std::map<std::string, std::string> how_it_ran(bool tiers = false) const;

  /// The graph as text, which src/ir/parser.cpp can parse. `imported`: as imported, else as
  /// compiled.
  std::string ir_text(bool imported) const;

 private:
  friend struct session::FromGraph;
  friend class Stepper;
  struct Impl;
  explicit Session(std::unique_ptr<Impl>);
  Handle<Impl> impl_;
};

/// Runs a session step by step, where outputs of one step are inputs of the next: the weights and
/// moments of training, the caches of a decoder. The stepper holds these carried values between
/// steps, and nothing is copied between steps. During a step, the memory of an old value is reused:
/// an element-wise program that is the last to read it writes the new value in its place; otherwise
/// the old value is freed as soon as the new value exists.
///
/// A step is atomic: if it fails, or its deadline or terminate flag ends it, all carried values
/// stay as they were. Therefore a step cannot be ended once the reused or freed values exceed a
/// sixteenth of the bytes of all carried values. This point is as late as possible: all loops,
/// branches and kernels come before it, and only element-wise programs follow. (In training, they
/// update the weights.) Only running out of memory can make them fail; then each carried value is
/// either the old or the new one.
class RONDEL_API Stepper {
 public:
  /// `carried`: for each carried input, the output that is its value in the next step. `values`:
  /// for each carried input, its value in the first step; the stepper does not write this memory,
  /// and others must not write it. The session must outlive the stepper. Throws Error(caller) for
  /// unknown names, values that are missing or do not fit, and outputs of another dtype.
  Stepper(const Session&, const std::map<std::string, std::string>& carried,
          const std::map<std::string, Value>& values);
  ~Stepper();
  Stepper(Stepper&&) noexcept;
  Stepper& operator=(Stepper&&) noexcept;

  // Each of the following throws Error(caller) while a step is under way in another thread.

  /// Runs one step and returns the named outputs, in the requested order; empty: none, unlike
  /// Session::run. `feeds`: the inputs that are not carried. Throws as Session::run does.
  std::vector<Value> step(std::span<const std::string> outputs,
                          const std::map<std::string, Value>& feeds, const RunOptions& = {});
  /// The value of a carried input in the next step. It may be read for as long as the caller holds
  /// it, and must not be written.
  Value value(const std::string& input) const;
  /// Replaces the value of a carried input. Its memory must not be written afterwards.
  void set(const std::string& input, Value);

 private:
  struct Impl;
  Handle<Impl> impl_;
};

/// A loop of a model.
struct LoopInfo {
  std::string name;    ///< "node 'decode' (Loop)"
  std::string source;  ///< "loop"; in a model that does not run, the ONNX op
  int depth = 0;       ///< the number of enclosing regions
  std::vector<std::string> states, scans, stacks;  ///< "name: type", or the name alone
  std::string bound;                               ///< what ends the loop, in words
  /// How it runs, in words: "natively, as a whole", or "step by step: " and the reason, as far as
  /// the declared shapes tell. Empty in a model that does not run.
  std::string execution;
};

/// An `if` of a model that runs.
struct BranchInfo {
  std::string name;       ///< "node 'merge' (If)"
  int depth = 0;          ///< the number of enclosing regions
  std::string execution;  ///< as LoopInfo::execution
};

/// The contents of a model, and whether it will run. For a model that will not run, the report has
/// everything that the file declares. `opsets`: by domain ("ai.onnx" for ONNX's own). `op_counts`:
/// the number of nodes of each op, at any depth; function bodies count once.
struct RONDEL_API ModelReport {
  std::vector<PortInfo> inputs, outputs;  ///< `type` is "" if the file declares none
  std::map<std::string, std::int64_t> opsets;
  std::map<std::string, std::int64_t> op_counts;
  std::vector<LoopInfo> loops;
  std::vector<BranchInfo> branches;  ///< empty if the model does not run
  std::vector<Finding> findings;
  /// True if no finding is an error.
  bool runs() const;
};

/// Reads a model without running it or generating code. A reason why it will not run is a finding;
/// throws Error(caller) only if the source is not a model, or an option is out of range.
RONDEL_API ModelReport inspect(const std::filesystem::path& model, const SessionOptions& = {});
RONDEL_API ModelReport inspect(std::span<const std::byte> model, const SessionOptions& = {});

/// What a pass did to a loop, or why it left something as it is, in the model's own names.
struct PassRemark {
  std::string loop;  ///< "node 'decode' (Loop)"
  bool done = false;
  std::string text;  ///< "state 'i' is left out: it follows from the trip index"
};

/// One run of one pass over a model's graph.
struct PassRun {
  std::string pipeline, pass;  ///< "canonicalize", "fold_constants"
  std::string doc;             ///< what the pass does, in one line
  int round = 0;               ///< the round of its pipeline, from 1
  bool changed = false;
  double seconds = 0;
  std::size_t nodes = 0;  ///< in the graph after the pass, at any depth
  std::string text;       ///< the graph after the pass, if requested
  /// By loop: all that was done to it and, last, the first reason why no more was.
  std::vector<PassRemark> remarks;
};

/// Compiles a model's graph and reports what each pass did, in order. `after`: a pass, by name or
/// as "pipeline/pass"; its runs include the graph as text. Throws Error(caller) for a pass that
/// does not exist, and otherwise as Session's constructor does.
RONDEL_API std::vector<PassRun> trace_passes(const std::filesystem::path& model,
                                             const SessionOptions& = {}, std::string after = "");
RONDEL_API std::vector<PassRun> trace_passes(std::span<const std::byte> model,
                                             const SessionOptions& = {}, std::string after = "");

/// "0.1.0"
RONDEL_API const char* version();

}  // namespace rondel
