// Models in ModECI's Model Description Format, run as one loop: `mdf::Model model("States.json");
// model.run({.steps = 200, .dt = 0.01})`. docs/mdf.md defines the meaning of a model.
#pragma once
#include <rondel/handle.h>
#include <rondel/session.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace rondel::mdf {

/// The functions that expressions may call: "abs", "math.exp", "numpy.sum", ...; sorted.
RONDEL_API std::vector<std::string> functions_of_expressions();

/// One simulation, or a sweep of many.
struct Settings {
  /// Steps of `dt` after the initial evaluation, which initializes the states; 0 or more.
  std::int64_t steps = 0;
  double dt = 1;
  /// Names to record: "node.port"; "node.parameter" or "node.function" if no port has this name;
  /// "parameter node.item" or "function node.item" in any case. Empty: every output port.
  std::vector<std::string> record = {};
  /// By "node.port": values of input ports instead of their defaults, either one value for all
  /// evaluations or [steps + 1, ...], one row per evaluation. A value for a port that an edge
  /// overwrites is an error.
  std::map<std::string, Tensor> inputs = {};
  /// By "node.parameter": the initial value of a state. A value with one more axis in front than
  /// the state is a sweep: one simulation per row.
  std::map<std::string, Tensor> initial = {};
  /// By "node.parameter": a value that replaces the parameter's value, function or
  /// time_derivative. It may be a sweep, too. All sweeps have the same number of rows.
  std::map<std::string, Tensor> set = {};
  /// True: `onnx::` functions compute in f32, as modeci_mdf does; false: in the type of their
  /// inputs.
  bool single_precision = true;
};

/// An input port as declared in the file.
struct InputPortInfo {
  std::string name;      ///< "node.port"
  std::string reduce;    ///< how it combines values: "overwrite", "add" or "multiply"
  Tensor default_value;  ///< the value if nothing is fed; undefined if it is not a number
};

/// A model from a file or a text. Safe to use from many threads at once.
class RONDEL_API Model {
 public:
  /// Reads a file: JSON if its name ends in .json, else YAML. Throws Error(caller) naming line and
  /// column, or the node, port or edge at fault. `SessionOptions::on_warning` is called for each
  /// key that MDF does not define; such a key is ignored.
  explicit Model(const std::filesystem::path& file, const SessionOptions& = {});
  /// Reads a text: JSON if it begins with a brace, else YAML. The text need not outlive the call.
  explicit Model(std::span<const std::byte> text, const SessionOptions& = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  const std::string& name() const;
  /// The ids of the nodes, in the order of the file.
  std::vector<std::string> nodes() const;
  /// All names that `record` may have; output ports first.
  std::vector<std::string> recordable() const;
  /// The nodes without incoming edges; if there are none, the nodes that have an input port with a
  /// default value.
  std::vector<std::string> root_nodes() const;
  /// The nodes without outgoing edges.
  std::vector<std::string> output_nodes() const;
  /// The names that are recorded if `record` is empty.
  std::vector<std::string> output_ports() const;
  /// The names that `inputs` may have.
  std::vector<InputPortInfo> input_ports() const;
  /// The names that `initial` and `set` may have.
  std::vector<std::string> parameters() const;
  /// The functions of nodes, as "node.function".
  std::vector<std::string> functions() const;

  /// Runs the model. Returns for each recorded name [steps + 1, ...], in a sweep of P points
  /// [steps + 1, P, ...]; row 0 is the value after the initial evaluation. Compiled code is kept:
  /// a run with other values, steps or dt compiles nothing. Throws Error: `caller` for unknown
  /// names, values that do not fit and mistakes in the model, naming node and port; `unsupported`
  /// for functions that Rondel does not have; `limit`, `deadline`, `cancelled`.
  std::map<std::string, Tensor> run(const Settings&, const RunOptions& = {}) const;

  /// The model as a session, to run it directly or to write it as ONNX. The session's inputs are
  /// "steps", "dt" and the values of the settings, all of them optional.
  Session compile(const Settings&) const;

  /// The names in the settings' inputs that have one row per evaluation.
  std::vector<std::string> varying_inputs(const Settings&) const;
  /// Whether the model draws random numbers. They depend on `RunOptions::seed` and on the number of
  /// the evaluation within its run, so a run in several parts draws other numbers than one run.
  bool draws(const Settings&) const;

 private:
  friend class Simulation;
  struct Impl;
  Handle<Impl> impl_;
};

/// A run that continues in parts: some evaluations at a time, each part with its own inputs and dt.
/// Not thread-safe.
class RONDEL_API Simulation {
 public:
  /// `steps`, `dt` and `inputs` of the settings are ignored. The model must outlive the simulation.
  /// Throws Error(caller) as `Model::run` does.
  Simulation(const Model&, const Settings&);
  ~Simulation();
  /// A copy continues from the same states, independently.
  Simulation(const Simulation&);
  Simulation& operator=(const Simulation&);
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// The number of evaluations so far.
  std::int64_t evaluated() const;
  /// In the next evaluation no time passes: states with a time derivative take their initial
  /// values, everything else continues, as in modeci_mdf's `evaluate()` without an increment.
  void begin_anew();
  /// Makes 1 or more evaluations; the first one of the simulation initializes the states. Returns
  /// the recorded values [evaluations, ...]. `inputs`: as in the settings, one row for each of
  /// these evaluations; if an edge overwrites the port, the edge's value wins. Throws Error as
  /// `Model::run` does, and then leaves the simulation unchanged. Each call draws new random
  /// numbers, from the seed and the number of evaluations before it.
  std::map<std::string, Tensor> advance(std::int64_t evaluations, double dt,
                                        const std::map<std::string, Tensor>& inputs = {},
                                        const RunOptions& = {});

 private:
  struct Impl;
  Handle<Impl> impl_;
};

}  // namespace rondel::mdf
