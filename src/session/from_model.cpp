// Sessions of models: front ends, passes and code that is compiled while they run.
#include "base/profiles.h"
#include "compile/check_mode.h"
#include "compile/plan_builder.h"
#include "compile/tiered_compiler.h"
#include "session/from_graph.h"
#include "session/front_ends.h"
#include "session/options.h"

namespace rondel {
namespace {

using compile::Execution;

Execution execution_of(const SessionOptions& o) {
  return o.jit ? compile::execution_from_environment(Execution::tiered) : Execution::interpreter;
}

Session session_of(const auto& model, const SessionOptions& o) {
  frontends::Imported imported = [&] {
    const ProfileScope scope(o.profile.get(), ProfileEvent::Kind::load, "reading the model");
    return session::read_model(model, o);
  }();
  Session made = session::FromGraph::make(std::move(imported.graph), std::move(imported.info), o);
  session::FromGraph::describe(made, std::move(imported.map_keys), session::versions_of(imported));
  session::report_warnings(o, imported.findings);
  return made;
}

/// The same graph with a new symbol for each unknown extent of each input, for inputs whose extents
/// differ although the model gives them the same name.
ir::Graph without_shared_symbols(ir::Graph g) {
  for (const ir::ValueId v : g.root().params) {
    ir::Type& t = g.value(v).type;
    if (!t.is_tensor() || !t.has_rank()) continue;
    ir::Extents extents = t.extents();
    for (std::size_t a = 0; a < extents.size(); ++a)
      if (!extents[a].known())
        extents[a] = ir::Extent::own(fmt::format("in{}.{}", ir::index(v), a));
    t = ir::Type::tensor(t.dtype(), std::move(extents));
  }
  ir::infer_types(g);
  return g;
}

}  // namespace

Session::Session(const std::filesystem::path& model, const SessionOptions& o)
    : Session(session_of(model, o)) {}
Session::Session(std::span<const std::byte> model, const SessionOptions& o)
    : Session(session_of(model, o)) {}

Session session::FromGraph::make(ir::Graph graph, ModelInfo info, const SessionOptions& o) {
  return make(std::move(graph), std::move(info), o, resources_for(o));
}

ir::Graph session::graph_that_runs(const ir::Graph& imported, const SessionOptions& o,
                                   Extents extents) {
  return compile::compile_graph(
      extents == Extents::free ? without_shared_symbols(imported) : imported, o);
}

ir::Graph session::graph_for_shapes(const ir::Graph& imported, const SessionOptions& o,
                                    std::span<const ir::Type> inputs) {
  return compile::compile_graph_for(imported, inputs, o);
}

session::SharedResources session::resources_for(const SessionOptions& o) {
  const bool checked = compile::check_mode_from_environment();
  const bool divides_all = compile::divides_all_from_environment();
  return {runtime::Memory(o.max_memory_bytes, checked),
          std::make_shared<compile::TieredCompiler>(execution_of(o), checked, divides_all),
          graph_that_runs,
          o.graph_optimization_level > 0 ? graph_for_shapes : session::GraphSpecializer()};
}

}  // namespace rondel
