#include "base/error.h"
#include "compile/plan_builder.h"
#include "compile/region_code.h"
#include "ir/graph.h"
#include "ir/value_text.h"
#include "session/front_ends.h"
#include "session/ports.h"

#include <rondel/graph.h>
#include <rondel/session.h>

#include <algorithm>
#include <map>

namespace rondel {
namespace {

std::string typed(const ir::Graph& g, ir::ValueId v) {
  const ir::ValueInfo& info = g.value(v);
  return (info.name.empty() ? "(unnamed)" : info.name) + ": " + to_text(info.type);
}

/// A text that says what ends a loop. `trips`: a text for the trip count; empty: there is none.
std::string bound_text(std::string trips, bool condition, bool scans) {
  if (condition) trips += trips.empty() ? "a condition from data" : ", or a condition from data";
  if (!trips.empty()) return trips;
  return scans ? "the extent of its scans" : "nothing: it needs a deadline";
}

constexpr const char* trips_from_data = "a trip count from data";

std::string bound_of(const ir::Graph& g, const ir::Node& node, const ir::LoopParts& parts) {
  std::string trips;
  if (parts.has_trips) {
    const Tensor* known = g.constant(node.inputs[parts.trips_at()]);
    trips = known != nullptr && known->size() == 1
                ? fmt::format("{} trips", *known->data_as<std::int64_t>())
                : trips_from_data;
  }
  return bound_text(std::move(trips), parts.has_go, parts.scans > 0);
}

void find_control(const ir::Graph& g, ir::RegionId r, int depth, ModelReport& found) {
  for (const ir::NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    if (node.is_loop()) {
      const ir::LoopParts parts(node);
      const ir::Region& body = g.region(parts.body);
      LoopInfo info{node.source, "loop", depth, {}, {}, {}, bound_of(g, node, parts), {}};
      for (std::size_t s = 0; s < parts.states; ++s)
        info.states.push_back(typed(g, body.params[2 + s]));
      for (std::size_t s = 0; s < parts.scans; ++s)
        info.scans.push_back(typed(g, body.params[2 + parts.states + s]));
      for (std::size_t s = 0; s < parts.stacks; ++s)
        info.stacks.push_back(typed(g, body.results[1 + parts.states + s]));
      found.loops.push_back(std::move(info));
    } else if (!node.regions.empty()) {
      found.branches.push_back({node.source, depth, {}});
    }
    for (const ir::RegionId inner : node.regions) find_control(g, inner, depth + 1, found);
  }
}

/// Finds how each loop and `if` of the compiled graph runs, by the source of its node.
void find_executions(const ir::Graph& g, ir::RegionId r, const lowering::LoweringOptions& options,
                     std::map<std::string, std::string>& found) {
  for (const ir::NodeId n : g.region(r).nodes) {
    const ir::Node& node = g.node(n);
    if (!node.regions.empty()) found.emplace(node.source, compile::how_it_runs(g, n, options));
    for (const ir::RegionId inner : node.regions) find_executions(g, inner, options, found);
  }
}

void report_executions(ModelReport& r, ir::Graph graph, const SessionOptions& o) {
  if (r.loops.empty() && r.branches.empty()) return;
  std::map<std::string, std::string> found;
  try {
    const ir::Graph compiled = compile::compile_graph(std::move(graph), o);
    find_executions(compiled, ir::RegionId::root,
                    {.fuse = o.graph_optimization_level > 0, .evaluate = compile::make_evaluator()},
                    found);
  } catch (const Error& e) {
    // A graph that cannot be compiled cannot run either.
    if (e.blame() == Blame::internal) throw;
    r.findings.push_back({Finding::Level::error, "", e.what()});
    return;
  }
  const auto execution = [&](const std::string& node) -> std::string {
    const auto at = found.find(node);
    if (at == found.end()) return "not at all: what it gives is constant or never read";
    return o.jit ? at->second : "by the interpreter, as jit is off";
  };
  for (LoopInfo& loop : r.loops) loop.execution = execution(loop.name);
  for (BranchInfo& branch : r.branches) branch.execution = execution(branch.name);
}

void report_imported(ModelReport& r, frontends::Imported model, const SessionOptions& o) {
  const ir::Graph& g = model.graph;
  for (std::size_t i = 0; i < g.input_names.size(); ++i) {
    if (g.roles.contains(g.root().params[i])) continue;
    const ir::ValueId v = g.root().params[i];
    r.inputs.push_back(session::port(g.input_names[i], g.value(v).type));
    r.inputs.back().has_default = g.defaults.contains(v);
  }
  for (std::size_t j = 0; j < g.output_names.size(); ++j)
    r.outputs.push_back(session::port(g.output_names[j], session::output_type(g, j)));
  find_control(g, ir::RegionId::root, 0, r);
  report_executions(r, std::move(model.graph), o);
}

void report_file(ModelReport& r, const frontends::Survey& survey) {
  for (const auto& [name, type] : survey.inputs) r.inputs.push_back(session::port(name, type));
  for (const auto& [name, type] : survey.outputs) r.outputs.push_back(session::port(name, type));
  for (const frontends::FileLoop& loop : survey.loops) {
    r.loops.push_back(loop.info);
    r.loops.back().bound = bound_text(loop.has_trips ? trips_from_data : "", loop.has_condition,
                                      !loop.info.scans.empty());
  }
}

/// Reports the imported graph or, if the import failed, the contents of the file.
ModelReport report(frontends::Survey survey, const SessionOptions& o) {
  ModelReport r;
  r.opsets = survey.opsets;
  r.op_counts = survey.op_counts;
  r.findings = survey.findings;
  if (survey.imported) report_imported(r, std::move(*survey.imported), o);
  else report_file(r, survey);
  return r;
}

}  // namespace

namespace {

/// Describes graphs as `GraphInfo`.
class Describer {
 public:
  explicit Describer(const ir::Graph& g) : g_(g) {}
  GraphInfo graph() {
    GraphInfo info{g_.name, {}, region(ir::RegionId::root, "model")};
    const ir::Region& root = g_.root();
    for (std::size_t i = 0; i < root.params.size(); ++i)
      info.root.params[i].role = g_.input_names[i];
    for (std::size_t j = 0; j < root.results.size(); ++j)
      info.root.results[j].role = g_.output_names[j];
    for (std::size_t v = 0; v < g_.value_count(); ++v) {
      const auto id = static_cast<ir::ValueId>(v);
      const Tensor* constant = g_.constant(id);
      info.values.push_back({g_.value(id).name, to_text(g_.value(id).type),
                             constant != nullptr ? ir::tensor_text(*constant, most_shown) : ""});
    }
    return info;
  }

 private:
  static constexpr std::int64_t most_shown = 8;  ///< elements of a constant
  using Roles = std::vector<std::string>;

  static std::vector<GraphPort> ports(std::span<const ir::ValueId> values, const Roles& roles) {
    std::vector<GraphPort> made;
    for (std::size_t k = 0; k < values.size(); ++k)
      made.push_back({values[k] == ir::ValueId::none ? -1 : static_cast<int>(values[k]),
                      k < roles.size() ? roles[k] : ""});
    return made;
  }

  bool is_constant(const ir::Node& n) const {
    return n.outputs.size() == 1 && n.outputs[0] != ir::ValueId::none &&
           g_.constant(n.outputs[0]) != nullptr;
  }

  GraphRegion region(ir::RegionId r, std::string role, const Roles& params = {},
                     const Roles& results = {}) const {
    GraphRegion made{std::move(role),
                     ports(g_.region(r).params, params),
                     ports(g_.region(r).results, results),
                     {}};
    for (const ir::NodeId n : g_.region(r).nodes)
      if (!is_constant(g_.node(n))) made.nodes.push_back(node(g_.node(n)));
    return made;
  }

  GraphNode node(const ir::Node& n) const {
    if (n.is_loop()) return loop(n);
    GraphNode made{std::string(n.op->name), n.source, {}, ports(n.inputs, {}),
                   ports(n.outputs, {}),    {}};
    for (const auto& [key, value] : n.attributes)
      made.attributes.emplace_back(key, ir::attribute_text(value, most_shown));
    for (std::size_t k = 0; k < n.regions.size(); ++k)
      made.regions.push_back(region(n.regions[k], k == 0 ? "then" : "else"));
    return made;
  }

  GraphNode loop(const ir::Node& n) const {
    const ir::LoopParts& p = n.loop();
    Roles in, out, params{"trip", "go"}, results{"go"};
    if (p.has_trips) in.emplace_back("trips");
    if (p.has_go) in.emplace_back("go");
    const auto add = [](Roles& to, std::size_t count, const char* role) {
      for (std::size_t k = 0; k < count; ++k) to.emplace_back(role);
    };
    add(in, p.states, "state");
    add(in, p.scans, "scan");
    add(in, n.inputs.size() - in.size(), "extent");
    add(params, p.states, "state");
    add(params, p.scans, "scan");
    add(results, p.states, "state");
    add(results, p.stacks, "stack");
    add(out, p.states, "state");
    add(out, p.stacks, "stack");
    add(out, 1, "trips");
    GraphNode made{std::string(n.op->name), n.source, {}, ports(n.inputs, in),
                   ports(n.outputs, out),   {}};
    made.regions.push_back(region(p.body, "body", params, results));
    return made;
  }

  const ir::Graph& g_;
};

}  // namespace

GraphInfo describe_graph(const std::filesystem::path& model, const SessionOptions& o) {
  return Describer(session::read_model(model, o).graph).graph();
}

GraphInfo describe_graph(std::span<const std::byte> model, const SessionOptions& o) {
  return Describer(session::read_model(model, o).graph).graph();
}

bool ModelReport::runs() const {
  return std::ranges::none_of(findings,
                              [](const Finding& f) { return f.level == Finding::Level::error; });
}

ModelReport inspect(const std::filesystem::path& model, const SessionOptions& o) {
  return report(session::survey_model(model, o), o);
}

ModelReport inspect(std::span<const std::byte> model, const SessionOptions& o) {
  return report(session::survey_model(model, o), o);
}

const char* version() { return RONDEL_VERSION; }

}  // namespace rondel
