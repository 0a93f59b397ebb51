// Models in ModECI's Model Description Format, run as one loop: `mdf::Model model("States.json");
// model.run({.steps = 200, .dt = 0.01})`. docs/mdf.md says what a model means.
#pragma once
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
  /// Steps of `dt` after the evaluation that begins the states: 0 or more.
  std::int64_t steps = 0;
  double dt = 1;
  /// "node.port", and "node.parameter" and "node.function" where no port is called so;
  /// "parameter node.item" and "function node.item" in any case. Empty: every output port.
  std::vector<std::string> record;
  /// By "node.port", values of input ports in place of their defaults: one for all evaluations, or
  /// [steps + 1, ...], a row for each. One for a port that an edge overwrites is an error.
  std::map<std::string, Tensor> inputs;
  /// By "node.parameter": what a state begins with. With one axis more than the state, in front, a
  /// sweep: one simulation for each row.
  std::map<std::string, Tensor> initial;
  /// By "node.parameter": its value in place of its value, function or time_derivative. A sweep
  /// likewise. All sweeps have as many rows.
  std::map<std::string, Tensor> set;
  /// Whether `onnx::` functions compute in f32, as modeci_mdf does, or in the type of their inputs.
  bool single_precision = true;
};

/// An input port as the file has it.
struct InputPortInfo {
  std::string name;      ///< "node.port"
  std::string reduce;    ///< how it joins what it gets: "overwrite", "add" or "multiply"
  Tensor default_value;  ///< what it has where it gets nothing; undefined where it is no number
};

/// A model of a file or a text. Safe to use from many threads at once.
class RONDEL_API Model {
 public:
  /// Reads a file: JSON where its name ends so, else YAML. Throws Error(caller) naming line and
  /// column, or the node, port or edge at fault.
  /// `SessionOptions::on_warning` is told of keys that MDF does not have: nothing reads them.
  explicit Model(const std::filesystem::path& file, const SessionOptions& = {});
  /// Reads a text: JSON where it begins with a brace, else YAML. It need not outlive the call.
  explicit Model(std::span<const std::byte> text, const SessionOptions& = {});
  ~Model();
  Model(Model&&) noexcept;
  Model& operator=(Model&&) noexcept;

  const std::string& name() const;
  /// The ids of the nodes, in the order of the file.
  std::vector<std::string> nodes() const;
  /// All that `record` may name; output ports first.
  std::vector<std::string> recordable() const;
  /// The nodes that no edge leads to, or, where there are none, those with a default value in an
  /// input port; and the nodes that no edge leaves.
  std::vector<std::string> root_nodes() const;
  std::vector<std::string> output_nodes() const;
  /// What is recorded where `record` is empty; the names that `inputs` may have, and those that
  /// `initial` and `set` may have.
  std::vector<std::string> output_ports() const;
  std::vector<InputPortInfo> input_ports() const;
  std::vector<std::string> parameters() const;
  std::vector<std::string> functions() const;

  /// Runs the model: for each recorded name [steps + 1, ...], in a sweep of P points
  /// [steps + 1, P, ...]; row 0 is the state after the evaluation that begins it. What was compiled
  /// is kept: other values, steps and dt compile nothing. Throws Error: `caller` for names that
  /// there are not, values that do not fit and what the model gets wrong, naming node and port;
  /// `unsupported` for functions that are not run; `limit`, `deadline`, `cancelled`.
  std::map<std::string, Tensor> run(const Settings&, const RunOptions& = {}) const;

  /// The model as a session whose inputs are "steps", "dt" and the values of the settings, all of
  /// which may be left out. To run it by itself, and to write it as ONNX.
  Session compile(const Settings&) const;

  /// Those of the settings' inputs that have a row for each evaluation.
  std::vector<std::string> varying_inputs(const Settings&) const;
  /// Whether random numbers are drawn: by `RunOptions::seed` and the number of the evaluation in
  /// its run, so that a run in parts draws others than one run.
  bool draws(const Settings&) const;

 private:
  friend class Simulation;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

/// A run of a model that goes on: some evaluations at a time, with other inputs and another dt each
/// time. Not thread-safe.
class RONDEL_API Simulation {
 public:
  /// Of the settings, `steps`, `dt` and `inputs` do not matter. The model outlives the simulation.
  /// Throws Error(caller) as `Model::run` does.
  Simulation(const Model&, const Settings&);
  ~Simulation();
  /// A copy goes on from the same states by itself.
  Simulation(const Simulation&);
  Simulation& operator=(const Simulation&);
  Simulation(Simulation&&) noexcept;
  Simulation& operator=(Simulation&&) noexcept;

  /// Evaluations that were made.
  std::int64_t evaluated() const;
  /// In the next evaluation no time passes: states with a time derivative begin anew, all else goes
  /// on, as in modeci_mdf's `evaluate()` without an increment.
  void begin_anew();
  /// Makes 1 or more evaluations, the very first of which begins the states: recorded values
  /// [evaluations, ...]. `inputs`: as in the settings, a row for each of these evaluations; where
  /// an edge overwrites one, the edge's value wins. Throws
  /// Error as `Model::run` does; then the simulation is where it was. Random numbers are drawn anew
  /// each time, by the seed and the evaluations made before.
  std::map<std::string, Tensor> advance(std::int64_t evaluations, double dt,
                                        const std::map<std::string, Tensor>& inputs = {},
                                        const RunOptions& = {});

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rondel::mdf
