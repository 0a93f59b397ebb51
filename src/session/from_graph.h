#pragma once
#include <rondel/session.h>

#include "compile/program_compiler.h"
#include "ir/graph.h"
#include "lowering/lower.h"
#include "runtime/memory.h"
#include "session/front_ends.h"

#include <functional>
#include <map>
#include <memory>
#include <span>
#include <vector>

namespace rondel::session {

/// Whether extents of inputs that have the same name in the model are equal.
enum class Extents { as_named, free };

/// Makes the graph that runs of the graph that was imported.
using GraphCompiler =
    std::function<ir::Graph(const ir::Graph& imported, const SessionOptions&, Extents)>;

/// Makes the graph that runs for inputs of certain shapes.
using GraphSpecializer = std::function<ir::Graph(const ir::Graph& imported, const SessionOptions&,
                                                 std::span<const ir::Type> inputs)>;

/// Resources that several sessions may share: the memory budget, the pool of blocks, the code of
/// equal programs, and the passes.
struct SharedResources {
  runtime::Memory memory;
  std::shared_ptr<compile::ProgramCompiler> compiler;
  GraphCompiler compile_graph;
  GraphSpecializer specialize_graph = nullptr;  ///< null: one graph runs for all shapes
};
/// The passes over an imported graph.
ir::Graph graph_that_runs(const ir::Graph& imported, const SessionOptions&, Extents);
ir::Graph graph_for_shapes(const ir::Graph& imported, const SessionOptions&,
                           std::span<const ir::Type> inputs);
/// How graphs are lowered with these options.
lowering::LoweringOptions lowering_options(const SessionOptions&, bool interpreting);
/// New resources for these options.
SharedResources resources_for(const SessionOptions&);

/// Access to the graphs of sessions. `make` makes a session from a front end's graph, with the
/// graph's input and output names.
struct FromGraph {
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&);
  static Session make(ir::Graph graph, ModelInfo info, const SessionOptions&,
                      const SharedResources&);
  /// The graph of a session as it was imported or built, or as it was compiled.
  static const ir::Graph& of(const Session&, bool compiled);
  static const SessionOptions& options(const Session&);
  static const ModelVersions& versions(const Session&);
  /// What the file of a model says that its graph does not. `map_keys`: by output.
  static void describe(Session&, std::map<std::string, Tensor> map_keys, const ModelVersions&);
  /// Runs a session: `inputs` in order, of the graph's types; returns all outputs in order.
  static std::vector<Value> run(const Session&, std::vector<Value> inputs, const RunOptions&);
};

}  // namespace rondel::session
