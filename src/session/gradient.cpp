#include "passes/gradient.h"
#include "base/error.h"
#include "base/text.h"
#include "ir/builder.h"
#include "passes/checkpoint_loops.h"
#include "session/export_source.h"
#include "session/from_graph.h"
#include "session/front_ends.h"
#include "session/options.h"
#include "session/plan_builder.h"

#include <rondel/gradient.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace rondel {
namespace {

using ir::Graph;
using ir::ValueId;

std::string quoted(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& n : names) text += (text.empty() ? "'" : ", '") + n + "'";
  return text;
}

void require_floats(const Graph& g, ValueId v, const std::string& name, const char* what) {
  const ir::Type& t = g.value(v).type;
  require(t.is_tensor() && is_float(t.dtype()), "{} '{}' is {}; expected a tensor of floats", what,
          name, ir::to_text(t));
}

/// An initializer stands as an input while the gradient is made, so that nothing is computed from
/// its value before.
class Variables {
 public:
  Variables(Graph& g, const std::vector<std::string>& names) : g_(g) {
    require(!names.empty(), "wrt is empty; expected names of inputs or initializers");
    for (const std::string& name : names) add(name);
  }
  const std::vector<ValueId>& values() const { return values_; }

  /// Initializers are constants again.
  void restore() {
    for (auto v = initializers_.rbegin(); v != initializers_.rend(); ++v) {
      ir::Builder b(g_, {});
      b.insert_first();
      b.source("initializer '" + v->second.name + "'");
      const ValueId constant = b.constant(v->second.tensor);
      g_.value(constant).name = v->second.name;
      g_.replace_uses(v->first, constant);
      const auto position = g_.value(v->first).position;
      g_.erase_param({}, static_cast<std::size_t>(position));
      g_.input_names.erase(g_.input_names.begin() + position);
    }
  }

 private:
  struct Initializer {
    std::string name;
    Tensor tensor;
  };

  void add(const std::string& name) {
    const auto input = std::ranges::find(g_.input_names, name);
    ValueId v = ValueId::none;
    if (input != g_.input_names.end())
      v = g_.root().params[static_cast<std::size_t>(input - g_.input_names.begin())];
    else v = as_input(name);
    require_floats(g_, v, name, "wrt");
    require(std::ranges::find(values_, v) == values_.end(), "wrt names '{}' twice", name);
    values_.push_back(v);
  }
  ValueId as_input(const std::string& name) {
    std::vector<std::string> known = g_.input_names;
    for (const ir::NodeId n : g_.root().nodes) {
      for (const ValueId v : g_.node(n).outputs) {
        const Tensor* tensor = v == ValueId::none ? nullptr : g_.constant(v);
        if (tensor == nullptr) continue;
        if (g_.value(v).name != name) {
          known.push_back(g_.value(v).name);
          continue;
        }
        const Tensor kept = *tensor;
        g_.input_names.resize(g_.root().params.size());
        const ValueId param = g_.add_param({}, g_.value(v).type, name);
        g_.input_names.push_back(name);
        initializers_.push_back({param, {name, kept}});
        g_.replace_uses(v, param);
        return param;
      }
    }
    fail("wrt names '{}', which is no input and no initializer of the model; there are {}", name,
         quoted(known));
  }

  Graph& g_;
  std::vector<ValueId> values_;
  std::vector<std::pair<ValueId, Initializer>> initializers_;
};

/// What is inferred of an output, and what the model declares beyond that.
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

std::vector<ValueId> differentiated(const Graph& g, const GradientOptions& o) {
  std::vector<ValueId> of;
  for (const std::string& name : o.outputs) {
    of.push_back(output_named(g, name));
    require_floats(g, of.back(), name, "output");
  }
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

std::vector<ValueId> seeds(Graph& g, std::span<const ValueId> of, const GradientOptions& o) {
  if (o.seed.empty()) return {};
  require(o.seed.size() == of.size(), "seed has {} names for {} outputs", o.seed.size(), of.size());
  std::vector<ValueId> seeds;
  g.input_names.resize(g.root().params.size());
  for (std::size_t k = 0; k < of.size(); ++k) {
    const auto is_taken = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, o.seed[k]) != names.end();
    };
    require(!o.seed[k].empty(), "seed has an empty name");
    require(!is_taken(g.input_names), "seed '{}' is the name of an input already", o.seed[k]);
    require(!is_taken(g.output_names), "seed '{}' is the name of an output already", o.seed[k]);
    const auto at = std::ranges::find(g.root().results, of[k]) - g.root().results.begin();
    seeds.push_back(g.add_param({}, type_of_output(g, static_cast<std::size_t>(at)), o.seed[k]));
    g.input_names.push_back(o.seed[k]);
  }
  return seeds;
}

ValueId value_named(const Graph& g, const std::string& name) {
  for (std::size_t k = 0; k < g.value_count(); ++k) {
    const auto v = static_cast<ValueId>(k);
    const ir::ValueInfo& info = g.value(v);
    const bool is_there = info.producer == ir::NodeId::none || !g.is_erased(info.producer);
    if (info.name == name && info.region == ir::RegionId{} && is_there) return v;
  }
  fail("stop_gradient names '{}', which is no value of the model outside of its loops", name);
}

void add_outputs(Graph& g, std::span<const ValueId> gradients, const GradientOptions& o) {
  for (std::size_t k = 0; k < gradients.size(); ++k) {
    const std::string name = o.prefix + o.wrt[k];
    const auto is_taken = [&](const std::vector<std::string>& names) {
      return std::ranges::find(names, name) != names.end();
    };
    require(!is_taken(g.output_names) && !is_taken(g.input_names),
            "the model has an input or output '{}' already; give another prefix than '{}'", name,
            o.prefix);
    g.add_result({}, gradients[k]);
    g.output_names.push_back(name);
  }
  for (std::size_t k = 0; k < g.declared_outputs.size(); ++k)
    g.declared_outputs[k] = type_of_output(g, k);
}

void canonicalize(Graph& g) {
  passes::PassOptions how;
  how.evaluate = session::make_evaluator();
  passes::run(passes::canonicalize(), g, how);
}

/// Nothing for "none"; otherwise as `passes::checkpoint_loops` has it.
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
  canonicalize(g);
  if (checkpoint && passes::checkpoint_loops(g, *checkpoint, variables.values())) canonicalize(g);
  passes::GradientRequest request;
  request.by = variables.values();
  request.of = differentiated(g, o);
  request.seed = seeds(g, request.of, o);
  for (const std::string& name : o.stop_gradient) request.stop.push_back(value_named(g, name));
  add_outputs(g, passes::add_gradient(g, request), o);
  canonicalize(g);
  variables.restore();
  return g;
}

ExportedModel written(Graph g, const ModelInfo& info, const GradientOptions& o) {
  return session::to_bytes(session::with_seed(with_gradient(std::move(g), o)), info, o.writing);
}

ExportedModel grad_of(const auto& model, GradientOptions o) {
  frontends::Imported imported = session::read_model(model, o.writing.reading);
  session::report_warnings(o.writing.reading, imported.findings);
  const auto own = imported.opsets.find("ai.onnx");
  if (!o.writing.least_opset && own != imported.opsets.end())
    o.writing.least_opset = static_cast<int>(own->second);
  return written(std::move(imported.graph), imported.info, o);
}

}  // namespace

ExportedModel grad(const std::filesystem::path& model, const GradientOptions& o) {
  return grad_of(model, o);
}
ExportedModel grad(std::span<const std::byte> model, const GradientOptions& o) {
  return grad_of(model, o);
}
ExportedModel grad(const Session& model, const GradientOptions& o) {
  return written(session::FromGraph::of(model, false), model.info(), o);
}

}  // namespace rondel
