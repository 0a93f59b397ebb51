#include "gradients/gradient.h"
#include "base/error.h"
#include "base/text.h"
#include "compile/plan_builder.h"
#include "exporters/onnx/opsets.h"
#include "exporters/onnx/unranked_ports.h"
#include "gradients/checkpoint_loops.h"
#include "gradients/influence.h"
#include "gradients/mask_scores.h"
#include "gradients/stop_gradients.h"
#include "ir/builder.h"
#include "lowering/empty_stacks.h"
#include "passes/hoist_invariants.h"
#include "passes/lists_to_tensors.h"
#include "passes/remove_dead.h"
#include "session/constants_as_inputs.h"
#include "session/export_source.h"
#include "session/from_graph.h"
#include "session/front_ends.h"
#include "session/options.h"

#include <rondel/gradient.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace rondel {
namespace {

using compile::canonicalize;
using ir::Graph;
using ir::ValueId;
using session::add_input;
using session::erase_input;

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "'" : ", '") + n + "'";
  return text;
}

bool is_name_of(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Whether an input that is fed by name has this name.
bool is_input(const Graph& g, const std::string& name) {
  for (std::size_t k = 0; k < g.input_names.size(); ++k)
    if (g.input_names[k] == name && !g.roles.contains(g.root().params[k])) return true;
  return false;
}

void require_floats(const Graph& g, ValueId v, const std::string& name, const char* what) {
  const ir::Type& t = g.value(v).type;
  require(t.is_tensor() && is_float(t.dtype()), "{} '{}' is {}; expected a tensor of floats", what,
          name, ir::to_text(t));
}

/// The values with respect to which a graph is differentiated. Initializers are replaced by inputs
/// until `restore` is called.
class Variables {
 public:
  Variables(Graph& g, const std::vector<std::string>& names) : g_(g), initializers_(g) {
    require(!names.empty(), "wrt is empty; expected names of inputs or initializers");
    for (const std::string& name : names) add(name);
  }
  const std::vector<ValueId>& values() const { return values_; }
  /// Turns the inputs for initializers into constants again.
  void restore() { initializers_.restore(); }

 private:
  void add(const std::string& name) {
    const auto input = std::ranges::find(g_.input_names, name);
    ValueId v = ValueId::none;
    if (input != g_.input_names.end())
      v = g_.root().params[static_cast<std::size_t>(input - g_.input_names.begin())];
    else v = as_input(name);
    require_floats(g_, v, name, "wrt");
    require(g_.value(v).type.dtype() != DType::f8e8m0,
            "wrt '{}' is {}, which has neither zero nor negative numbers, so it holds no gradient",
            name, ir::to_text(g_.value(v).type));
    require(std::ranges::find(values_, v) == values_.end(), "wrt names '{}' twice", name);
    values_.push_back(v);
  }
  ValueId as_input(const std::string& name) {
    std::vector<std::string> known = g_.input_names;
    for (const ir::NodeId n : g_.root().nodes)
      for (const ValueId v : g_.node(n).outputs) {
        if (v == ValueId::none || g_.constant(v) == nullptr) continue;
        if (g_.value(v).name == name) return initializers_.stand_in(v);
        if (!g_.value(v).name.empty()) known.push_back(g_.value(v).name);
      }
    fail("wrt names '{}', which is no input and no initializer of the model; there are {}", name,
         quoted(known));
  }

  Graph& g_;
  std::vector<ValueId> values_;
  session::ConstantsAsInputs initializers_;
};

/// The inferred type of an output, completed by the declared type.
ir::Type type_of_output(const Graph& g, std::size_t k) {
  const ir::Type& inferred = g.value(g.root().results[k]).type;
  return k < g.declared_outputs.size() ? ir::completed(inferred, g.declared_outputs[k]) : inferred;
}

ValueId output_named(const Graph& g, const std::string& name) {
  const auto at = std::ranges::find(g.output_names, name);
  require(at != g.output_names.end(), "outputs names '{}', which is no output; there are {}", name,
          quoted(g.output_names));
  return g.root().results[static_cast<std::size_t>(at - g.output_names.begin())];
}

std::vector<ValueId> outputs_named(const Graph& g, const std::vector<std::string>& names) {
  std::vector<ValueId> of;
  for (const std::string& name : names) {
    require(std::ranges::count(names, name) == 1, "outputs names '{}' twice", name);
    of.push_back(output_named(g, name));
    require_floats(g, of.back(), name, "output");
  }
  return of;
}

std::vector<ValueId> outputs_differentiated(const Graph& g, const GradientOptions& o) {
  std::vector<ValueId> of = outputs_named(g, o.outputs);
  if (!of.empty()) return of;
  for (std::size_t k = 0; k < g.root().results.size(); ++k) {
    const ir::Type t = type_of_output(g, k);
    if (t.is_tensor() && t.has_rank() && t.rank() == 0 && is_float(t.dtype()))
      of.push_back(g.root().results[k]);
  }
  require(!of.empty(),
          "the model has no scalar float output to differentiate; name some in outputs, of {}, "
          "whose elements are then summed, each times its seed",
          quoted(g.output_names));
  return of;
}

/// Adds an input of the type of an output.
ValueId add_input_like_output(Graph& g, ValueId output, const std::string& name) {
  const auto at = std::ranges::find(g.root().results, output) - g.root().results.begin();
  return add_input(g, type_of_output(g, static_cast<std::size_t>(at)), name);
}

std::vector<ValueId> seeds(Graph& g, std::span<const ValueId> of, const GradientOptions& o) {
  if (o.seed.empty()) return {};
  require(o.seed.size() == of.size(), "seed has {} names for {} outputs", o.seed.size(), of.size());
  std::vector<ValueId> seeds;
  for (std::size_t k = 0; k < of.size(); ++k) {
    const std::string& name = o.seed[k];
    require(!name.empty(), "seed has an empty name");
    require(std::ranges::count(o.seed, name) == 1,
            "seed '{}' is given twice; expected another name for each output", name);
    require(!is_input(g, name), "seed '{}' is the name of an input already", name);
    require(!is_name_of(g.output_names, name), "seed '{}' is the name of an output already", name);
    seeds.push_back(add_input_like_output(g, of[k], name));
  }
  return seeds;
}

/// The values with this name in all regions.
std::vector<ValueId> values_named(const Graph& g, const std::string& name) {
  std::vector<ValueId> found;
  const auto look_at = [&](ValueId v) {
    if (v != ValueId::none && g.value(v).name == name) found.push_back(v);
  };
  for (const ir::RegionId r : g.regions_below(ir::RegionId::root)) {
    std::ranges::for_each(g.region(r).params, look_at);
    for (const ir::NodeId n : g.region(r).nodes) std::ranges::for_each(g.node(n).outputs, look_at);
  }
  require(!found.empty(), "stop_gradient names '{}', which is no value of the model", name);
  return found;
}

void stop_gradients(Graph& g, const std::vector<std::string>& names) {
  for (const std::string& name : names) {
    std::vector<ValueId> values = values_named(g, name);
    std::erase_if(values, [&g](ValueId v) { return !gradients::has_adjoint(g, v); });
    for (const ValueId v : values)
      require(g.value(v).type.is_tensor(), "stop_gradient names '{}', {}; expected a tensor", name,
              ir::to_text(g.value(v).type));
    gradients::stop_gradients(g, values);
  }
}

void require_new(const Graph& g, const std::string& name, const std::string& prefix) {
  require(!is_name_of(g.output_names, name) && !is_input(g, name),
          "the model has an input or output '{}' already; give another prefix than '{}'", name,
          prefix);
}

/// Adds outputs; each is named `prefix` + its name in `names`.
void add_outputs(Graph& g, std::span<const ValueId> values, const std::vector<std::string>& names,
                 const std::string& prefix) {
  for (std::size_t k = 0; k < values.size(); ++k) {
    require_new(g, prefix + names[k], prefix);
    g.add_result({}, values[k]);
    g.output_names.push_back(prefix + names[k]);
  }
  for (std::size_t k = 0; k < g.declared_outputs.size(); ++k)
    g.declared_outputs[k] = type_of_output(g, k);
}

/// Brings a graph into the form that is differentiated. Loop invariants, such as values computed
/// from weights only, are hoisted, so that their gradients are computed once, too. Lists that are
/// only joined become stacks: the tensors read of a list have no rank, and their adjoints neither.
/// Items are declared as they are known here: where a reverse loop stacks them again, it reads what
/// they are made from of lists, and a stack without trips would have no rank (docs/loops.md, rule
/// 3).
void prepare(Graph& g) {
  gradients::mask_scores(g);
  canonicalize(g);
  const bool hoisted = passes::hoist_invariants(g);
  if (passes::lists_to_tensors(g) || hoisted) canonicalize(g);
  lowering::declare_items(g);
}

/// Nullopt for "none"; otherwise the argument `trips` of `gradients::checkpoint_loops`.
std::optional<std::optional<std::int64_t>> segments(const std::string& checkpoint) {
  if (checkpoint == "none") return std::nullopt;
  if (checkpoint == "sqrt") return std::optional<std::int64_t>();
  std::int64_t trips = 0;
  const char* end = checkpoint.data() + checkpoint.size();
  const auto [rest, error] = std::from_chars(checkpoint.data(), end, trips);
  require(error == std::errc() && rest == end && trips > 0,
          "checkpoint is '{}'; expected none, sqrt, or a number of trips", checkpoint);
  return trips;
}

Graph with_gradient(Graph g, const GradientOptions& o) {
  const auto checkpoint = segments(o.checkpoint);
  Variables variables(g, o.wrt);
  stop_gradients(g, o.stop_gradient);
  prepare(g);
  if (checkpoint && gradients::checkpoint_loops(g, *checkpoint, variables.values()))
    canonicalize(g);
  gradients::GradientRequest request;
  request.wrt = variables.values();
  request.targets = outputs_differentiated(g, o);
  request.seed = seeds(g, request.targets, o);
  add_outputs(g, gradients::add_gradient(g, request), o.wrt, o.prefix);
  passes::remove_gradient_stops(g);
  canonicalize(g);
  variables.restore();
  return g;
}

std::vector<std::string> names_of_float_outputs(const Graph& g) {
  std::vector<std::string> names;
  for (std::size_t k = 0; k < g.root().results.size(); ++k)
    if (const ir::Type t = type_of_output(g, k); t.is_tensor() && is_float(t.dtype()))
      names.push_back(g.output_names[k]);
  require(!names.empty(), "the model has no output of floats to differentiate; there are {}",
          quoted(g.output_names));
  return names;
}

/// Forward mode as reverse mode applied twice. The gradient of outputs y with respect to x, J'u, is
/// linear in its seeds u. The gradient of J'u with respect to u, with seeds v, is J v
/// (Christianson, "Automatic Hessians by reverse accumulation", 1992).
Graph with_tangents(Graph g, const TangentOptions& o) {
  Variables variables(g, o.wrt);
  stop_gradients(g, o.stop_gradient);
  prepare(g);
  const std::vector<std::string> names = o.outputs.empty() ? names_of_float_outputs(g) : o.outputs;
  std::vector<ValueId> directions;
  for (std::size_t k = 0; k < o.wrt.size(); ++k) {
    const std::string name = o.prefix + o.wrt[k];
    require_new(g, name, o.prefix);
    directions.push_back(add_input(g, g.value(variables.values()[k]).type, name));
  }
  gradients::GradientRequest reverse;
  reverse.wrt = variables.values();
  reverse.targets = outputs_named(g, names);
  for (const ValueId v : reverse.targets) reverse.seed.push_back(add_input_like_output(g, v, ""));
  const std::size_t own = g.root().results.size();
  for (const ValueId v : gradients::add_gradient(g, reverse)) g.add_result({}, v);
  canonicalize(g);
  gradients::GradientRequest forward;
  forward.wrt = reverse.seed;
  forward.seed = directions;
  std::vector<ValueId> results(g.root().results.begin(), g.root().results.end());
  forward.targets.assign(results.begin() + static_cast<std::ptrdiff_t>(own), results.end());
  const std::vector<ValueId> tangents = gradients::add_gradient(g, forward);
  results.resize(own);
  g.set_results({}, results);
  add_outputs(g, tangents, names, o.prefix);
  // Only the shapes of the seeds are used now; they equal those of the outputs.
  for (std::size_t k = names.size(); k-- > 0;) {
    g.replace_uses(reverse.seed[k], output_named(g, names[k]));
    erase_input(g, reverse.seed[k]);
  }
  passes::remove_gradient_stops(g);
  canonicalize(g);
  variables.restore();
  return g;
}

Graph differentiated(Graph g, const GradientOptions& o) { return with_gradient(std::move(g), o); }
Graph differentiated(Graph g, const TangentOptions& o) { return with_tangents(std::move(g), o); }

ExportedModel written(Graph g, const ModelInfo& info, const session::ModelVersions& versions,
                      auto o) {
  if (!o.writing.least_opset && versions.opset)
    o.writing.least_opset = std::max(*versions.opset, exporters::oldest_opset);
  if (!o.writing.least_ir_version) o.writing.least_ir_version = versions.ir_version;
  exporters::unwrap_ports(g);  // as gradients of models without ranks are written
  return session::to_bytes(session::with_seed(differentiated(std::move(g), o)), info, o.writing);
}

/// `o`: GradientOptions or TangentOptions.
ExportedModel of_model(const auto& model, const auto& o) {
  frontends::Imported imported = session::read_model(model, o.writing.reading);
  session::report_warnings(o.writing.reading, imported.findings);
  const session::ModelVersions versions = session::versions_of(imported);
  return written(std::move(imported.graph), imported.info, versions, o);
}
ExportedModel of_session(const Session& model, const auto& o) {
  using session::FromGraph;
  return written(FromGraph::of(model, false), model.info(), FromGraph::versions(model), o);
}

}  // namespace

ExportedModel grad(const std::filesystem::path& model, const GradientOptions& o) {
  return of_model(model, o);
}
ExportedModel grad(std::span<const std::byte> model, const GradientOptions& o) {
  return of_model(model, o);
}
ExportedModel grad(const Session& model, const GradientOptions& o) { return of_session(model, o); }

ExportedModel jvp(const std::filesystem::path& model, const TangentOptions& o) {
  return of_model(model, o);
}
ExportedModel jvp(std::span<const std::byte> model, const TangentOptions& o) {
  return of_model(model, o);
}
ExportedModel jvp(const Session& model, const TangentOptions& o) { return of_session(model, o); }

}  // namespace rondel
