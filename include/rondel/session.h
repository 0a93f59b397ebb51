#pragma once
#include <rondel/error.h>
#include <rondel/export.h>
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

/// Something that `rondel check` says of a model: an error keeps it from running; a warning names
/// what other runtimes understand differently.
struct Finding {
  enum class Level { note, warning, error } level;
  std::string where, message;
};

/// How a model is compiled and bounded. Values out of range end in Error(caller) when a session is
/// made.
struct SessionOptions {
  /// Threads of one op; 0: as many as there are cores. With 1 a run begins no thread but those of
  /// the process: one that compiles, one that keeps deadlines, and one that gives large blocks
  /// back.
  int intra_op_num_threads = 0;
  /// 0: none, 1: basic, 99: all, as onnxruntime counts them.
  int graph_optimization_level = 99;
  /// Bytes that all runs of the session may hold at once, beside feeds, weights and what a run has
  /// handed out; checked before each allocation, and for the text of strings after it.
  std::size_t max_memory_bytes = std::numeric_limits<std::size_t>::max();
  /// Trips of any one loop, 0 or more; a trip beyond them never begins.
  std::int64_t max_trips = std::numeric_limits<std::int64_t>::max();
  /// What a body's cond means where Loop's cond is "": "spec" ignores it, "honour" stops on it.
  std::string loop_cond = "spec";
  /// False: the interpreter alone, no generated code. RONDEL_JIT=0 in the environment does the
  /// same.
  bool jit = true;
  /// True: no contraction to fma, and the reference kernels instead of the fast ones.
  bool strict = false;
  /// Where external data of a model given as bytes may be read from.
  std::optional<std::filesystem::path> external_data_dir;
  /// Told of each warning, while a session is made of a model or a model is written again. Left
  /// out: each is a line on stderr.
  std::function<void(const Finding&)> on_warning;
};

/// How one run is bounded.
struct RunOptions {
  /// Seconds from the start of the run, 0 or more; none: no deadline.
  std::optional<double> deadline;
  /// Set from any thread to end the run with Error(cancelled) within a millisecond.
  std::atomic<bool>* terminate = nullptr;
  /// Asked about every 20 ms while the run goes on, from another thread; true ends it with
  /// Error(cancelled). For signals and other things that set no flag. Must not wait nor throw.
  std::function<bool()> interrupted;
  /// Seed of the random ops.
  std::uint64_t seed = 0;
};

/// An input or output of a model. `type` is a text such as "tensor(float)", as ONNX writes types;
/// `shape` holds numbers,
/// names of symbols, or empty strings where nothing is known; absent where the rank is unknown, and
/// of a sequence. That of an optional is the shape of the tensor it may hold.
struct PortInfo {
  std::string name;
  std::string type;
  std::optional<std::vector<std::string>> shape;
  bool has_default = false;  ///< an input that may be left out: an initializer stands for it
};

/// What a model says of itself, as its file has it.
struct ModelInfo {
  std::string graph_name, producer_name, domain, description, graph_description;
  std::int64_t version = 0;
  std::map<std::string, std::string> custom_metadata;
};

namespace session {
struct FromGraph;  // how front ends without a file make one
}

/// A compiled model. Safe to run from many threads at once.
class RONDEL_API Session {
 public:
  /// Reads an ONNX file. Throws Error: `caller` for a file that cannot be read or is no valid
  /// model, and for options out of range; `unsupported` for an op or type that is not run. The
  /// message names the node.
  explicit Session(const std::filesystem::path& model, const SessionOptions& = {});
  /// Reads a serialized ONNX ModelProto; the bytes need not outlive the call.
  explicit Session(std::span<const std::byte> model, const SessionOptions& = {});
  ~Session();
  Session(Session&&) noexcept;
  Session& operator=(Session&&) noexcept;

  /// In the model's order. They live as long as the session.
  const std::vector<PortInfo>& inputs() const;
  const std::vector<PortInfo>& outputs() const;
  const ModelInfo& info() const;

  /// All outputs by name. Inputs that have a default in the model may be left out, and optional
  /// ones, which are then empty. Outputs never alias inputs, weights or each other; feeds are read
  /// in place, in any strides, and never written.
  ///
  /// Throws Error: `caller` for a feed that is missing, unknown or of another type or shape than
  /// the model says, and for what the data makes impossible (an index out of range); `limit`,
  /// `deadline` and `cancelled` as the options say. The session stays usable after any of them.
  std::map<std::string, Value> run(const std::map<std::string, Value>& feeds,
                                   const RunOptions& = {}) const;
  /// The named outputs, in the order asked for; empty: all, in the model's order.
  std::vector<Value> run(std::span<const std::string> outputs,
                         const std::map<std::string, Value>& feeds, const RunOptions& = {}) const;

  /// All outputs, in the model's order. `inputs`: one value for each of inputs(), in that order; an
  /// undefined one is left out. For callers to whom the look-up of names is too slow.
  std::vector<Value> run_in_order(std::span<const Value> inputs, const RunOptions& = {}) const;
  /// Whether a run draws random numbers, so that `RunOptions::seed` matters.
  bool draws() const;

  /// How each loop and `if` that has run does so, by its node, for the newest shapes that it has
  /// met: "natively, as a whole", "as a whole, interpreted: " and why, or "step by step: " and
  /// why. Those inside of one that runs as a whole are not listed; without jit none is.
  std::map<std::string, std::string> how_it_ran() const;

  /// The graph as text, which src/ir/parser.cpp reads back: `imported` as read, else as compiled.
  std::string ir_text(bool imported) const;

 private:
  friend struct session::FromGraph;
  friend class Stepper;
  struct Impl;
  explicit Session(std::unique_ptr<Impl>);
  std::unique_ptr<Impl> impl_;
};

/// Runs a session step by step, where outputs of a step are inputs of the next: the weights and
/// moments of training, the caches of a decoder. The stepper holds these values between steps, and
/// gives them up to a step: the new value is written over the old one where an element-wise program
/// reads that for the last time; else the old one's memory is free once the new one is there.
/// Nothing is copied between steps.
///
/// A step happens or does not: one that fails, or is ended by its deadline or its terminate flag,
/// leaves all values as they were. To that end nothing ends a step any more once it has given up
/// values of more than a sixteenth of all bytes; before that it goes on as far as loops, branches
/// and kernels follow, so that what is left is a pass of plain programs. (In training these are the
/// updates of the weights.) Only a lack of memory can make it fail there; then each value is the
/// old or the new one.
class RONDEL_API Stepper {
 public:
  /// `carried`: for each input that is carried, the output that is its value in the next step.
  /// `values`: for each of these inputs its value in the first step, whose memory is not written,
  /// and must not be written by others. The session outlives the stepper. Throws Error(caller) for
  /// names that there are not, values that are missing or do not fit, and outputs of another dtype.
  Stepper(const Session&, const std::map<std::string, std::string>& carried,
          const std::map<std::string, Value>& values);
  ~Stepper();
  Stepper(Stepper&&) noexcept;
  Stepper& operator=(Stepper&&) noexcept;

  /// Runs one step, and gives the named outputs, in the order asked for. `feeds`: the inputs that
  /// are not carried. Errors are those of Session::run.
  std::vector<Value> step(std::span<const std::string> outputs,
                          const std::map<std::string, Value>& feeds, const RunOptions& = {});
  /// The value that the next step will be given for a carried input. It may be read for as long as
  /// it is held, and must not be written.
  Value value(const std::string& input) const;
  /// Replaces that value; its memory must not be written from now on.
  void set(const std::string& input, Value);
  // Each of these throws Error(caller) while a step is under way in another thread.

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A loop of a model.
struct LoopInfo {
  std::string name;    ///< "node 'decode' (Loop)"
  std::string source;  ///< "loop"; in a model that does not run, the ONNX op
  int depth = 0;       ///< regions around it
  std::vector<std::string> states, scans, stacks;  ///< "name: type", or the name alone
  std::string bound;                               ///< what ends it, in words
  /// How it runs, in words: "natively, as a whole", or "step by step: " and why. As far as the
  /// declared shapes tell; empty in a model that does not run.
  std::string execution;
};

/// An `if` of a model that runs.
struct BranchInfo {
  std::string name;       ///< "node 'merge' (If)"
  int depth = 0;          ///< regions around it
  std::string execution;  ///< as a loop's
};

/// What a model holds, and whether it will run. Of one that will not, everything that the file
/// says by itself is there; `opsets` are by domain, "ai.onnx" being ONNX's own, and `op_counts`
/// count nodes of any depth, function bodies once.
struct RONDEL_API ModelReport {
  std::vector<PortInfo> inputs, outputs;  ///< `type` is "" where the file declares none
  std::map<std::string, std::int64_t> opsets;
  std::map<std::string, std::int64_t> op_counts;
  std::vector<LoopInfo> loops;
  std::vector<BranchInfo> branches;  ///< none where the model does not run
  std::vector<Finding> findings;
  /// No finding is an error.
  bool runs() const;
};

/// Reads a model without running it or writing code. What keeps it from running is a finding;
/// throws Error(caller) only for what is no model, or an option out of range.
RONDEL_API ModelReport inspect(const std::filesystem::path& model, const SessionOptions& = {});
RONDEL_API ModelReport inspect(std::span<const std::byte> model, const SessionOptions& = {});

/// One run of one pass over a model's graph.
struct PassRun {
  std::string pipeline, pass;  ///< "canonicalize", "fold_constants"
  std::string doc;             ///< what the pass does, in a line
  int round = 0;               ///< of its pipeline, from 1
  bool changed = false;
  double seconds = 0;
  std::size_t nodes = 0;  ///< of the graph after it, those of every depth
  std::string text;       ///< the graph after it, where that was asked for
};

/// Compiles a model's graph and says what each pass did, in order. `after`: a pass, by its name or
/// as "pipeline/pass", whose runs have the graph's text with them; one that there is not is
/// Error(caller). Other errors as those of Session's constructor.
RONDEL_API std::vector<PassRun> trace_passes(const std::filesystem::path& model,
                                             const SessionOptions& = {}, std::string after = "");
RONDEL_API std::vector<PassRun> trace_passes(std::span<const std::byte> model,
                                             const SessionOptions& = {}, std::string after = "");

/// "0.1.0"
RONDEL_API const char* version();

}  // namespace rondel
