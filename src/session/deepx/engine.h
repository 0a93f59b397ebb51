#pragma once
#include "base/lru_cache.h"
#include "frontends/deepx/append.h"
#include "frontends/deepx/line_graphs.h"
#include "frontends/deepx/program.h"
#include "session/from_graph.h"

#include <rondel/deepx.h>

namespace rondel::deepx {

/// The named values of a session, and the plans that compute them.
class Engine {
 public:
  explicit Engine(const SessionOptions&);

  const SessionOptions& options() const { return options_; }
  Program& program() { return program_; }
  LineGraphs& line_graphs() { return line_graphs_; }
  const Program& program() const { return program_; }

  /// Computes everything that is pending. If it throws, the caller must undo the pending lines.
  void compute(const RunOptions&);
  /// Computes one line; nothing else may be pending. If it throws, the caller must call
  /// `Program::undo`.
  void compute(const SingleLine&, const RunOptions&);
  /// The entry of a name; nothing may be pending. Throws Error(caller) for an unknown name.
  const Entry& entry(std::string_view name) const;
  Tensor value(std::string_view name) const;
  /// Defines a tensor or replaces its value; `t` is copied.
  void define(const std::string& name, const Tensor&);

 private:
  rondel::Session planned(ir::Graph) const;
  std::shared_ptr<const rondel::Session> plan_of(Pending&);
  void run(const rondel::Session& plan, std::span<const Tensor> inputs,
           std::span<const std::string> outputs, const RunOptions&);

  const SessionOptions options_;
  const rondel::SessionOptions plan_options_;
  session::SharedResources resources_;
  Program program_;
  LineGraphs line_graphs_;
  LruCache<rondel::Session> plans_;       ///< of lines that are computed together
  LruCache<rondel::Session> line_plans_;  ///< of single lines, by the keys of their graphs
};

/// The surroundings of a program that is never run.
Surroundings surroundings_without_memory(std::uint64_t seed);

/// Runs a program text in an engine.
std::vector<Failure> run_text(Engine&, std::string_view text, const RunSettings&);

/// `Session::export_program`.
ExportReport export_program(const Engine&, std::string_view text, const std::filesystem::path& to,
                            const ExportOptions&);

/// The error with the position of a line, if the error has no position itself.
Error at_line(const Error&, const Position&);

}  // namespace rondel::deepx
