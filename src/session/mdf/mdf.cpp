#include <rondel/mdf.h>

#include "base/error.h"
#include "base/lru_cache.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/calls.h"
#include "frontends/mdf/layout.h"
#include "frontends/mdf/lower.h"
#include "frontends/mdf/read_file.h"
#include "session/from_graph.h"
#include "session/mdf/widened.h"
#include "session/options.h"

#include <algorithm>
#include <cmath>

namespace rondel::mdf {
namespace {

/// The number of compiled sessions that are cached per model.
constexpr std::size_t most_sessions = 16;

std::string quoted_extents(const Shape& s) {
  return fmt::format("[{}]", fmt::join(s.begin(), s.end(), ","));
}

/// How an input's values are given: once, or a row for each evaluation.
Given given_input(const Graph& g, const std::string& name, const Tensor& t, std::int64_t steps) {
  const InputPort& port = input_port(g, name);
  Shape shape = port.shape;
  if (const auto* d = std::get_if<Tensor>(&port.default_value)) shape = d->shape();
  if (t.shape() == shape) return {name, t.dtype(), shape};
  // Rows may have another shape than the port declares, as in MDF's own engine.
  const bool rows = t.rank() > 0 && t.shape()[0] == steps + 1;
  if (rows) return {name, t.dtype(), Shape(t.shape().begin() + 1, t.shape().end()), true};
  // A port that declares no shape accepts arrays, too.
  if (shape.empty() && t.rank() != 1) return {name, t.dtype(), t.shape()};
  fail("inputs: '{}' is {}; expected {} of shape {} for all evaluations, or {} rows, one for each",
       name, to_text(t.dtype(), t.shape()), shape.empty() ? "one value" : "values",
       quoted_extents(shape), steps + 1);
}

/// Rejects values for inputs that an edge overwrites, because they would have no effect.
void check_edges(const Graph& g, const std::map<std::string, Tensor>& inputs) {
  for (const auto& [name, t] : inputs)
    if (const Edge* e = overwriting_edge(g, input_port(g, name)))
      fail(
          "inputs: '{}' takes what edge '{}' delivers from node '{}', so that a value of its own "
          "would have no effect; set a parameter of that node, or take the edge out of the file",
          name, e->id, g.nodes[e->sender].id);
}

/// How a parameter's values are given: once, or a row for each point of a sweep.
Given given_parameter(const Graph& g, const std::string& name, const Tensor& t,
                      const FunctionOptions& functions) {
  const Shape shape = shape_of_parameter(g, name, functions);
  const bool rows = t.rank() == std::ssize(shape) + 1;
  if (!rows) return {name, t.dtype(), t.shape()};
  return {name, t.dtype(), Shape(t.shape().begin() + 1, t.shape().end()), true};
}

using Values = std::map<std::string, Tensor>;

/// The feeds for the settings: inputs, initial values, parameters and dt.
std::map<std::string, Value> given_feeds(const Settings& s) {
  std::map<std::string, Value> feeds;
  feeds.emplace(dt_name, Tensor::scalar(s.dt));
  const auto add = [&](const char* kind, const Values& values) {
    for (const auto& [name, t] : values) feeds.emplace(fmt::format("{} {}", kind, name), t);
  };
  add("input", s.inputs);
  add("initial", s.initial);
  add("set", s.set);
  return feeds;
}

void check(const Settings& s) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max() - 1;
  require(s.steps >= 0 && s.steps <= most, "steps is {}; expected 0 to {}", s.steps, most);
  require(std::isfinite(s.dt) && s.dt >= 0, "dt is {}; expected a finite number, 0 or more", s.dt);
  const auto check_all = [](const char* setting, const Values& values) {
    for (const auto& [name, t] : values)
      require(t.defined(), "{}: '{}' is an undefined tensor", setting, name);
  };
  check_all("inputs", s.inputs);
  check_all("initial", s.initial);
  check_all("set", s.set);
}

/// Requires that all sweeps have the same number of points.
void check_points(const LowerOptions& o, const Settings& s) {
  const std::string* first = nullptr;
  std::int64_t points = 0;
  const auto check_all = [&](const std::vector<Given>& given,
                             const std::map<std::string, Tensor>& values) {
    for (const Given& x : given) {
      if (!x.rows) continue;
      const std::int64_t rows = values.at(x.name).shape()[0];
      if (first == nullptr) {
        first = &x.name;
        points = rows;
      }
      require(rows == points, "the sweep of '{}' has {} points, that of '{}' {}; expected as many",
              *first, points, x.name, rows);
    }
  };
  check_all(o.initial, s.initial);
  check_all(o.set, s.set);
}

/// "node.item" for all items of all nodes.
template <class T> std::vector<std::string> names(const Graph& g, std::vector<T> Node::*items) {
  std::vector<std::string> out;
  for (const Node& n : g.nodes)
    for (const T& item : n.*items) out.push_back(n.id + "." + item.id);
  return out;
}

CacheKey key_of(const LowerOptions& o) {
  CacheKey key{o.functions.single_precision ? 1 : 0, o.resumable ? 1 : 0, std::ssize(o.record)};
  for (const std::string& name : o.record) add_text(key, name);
  for (const auto* list : {&o.inputs, &o.initial, &o.set}) {
    key.push_back(std::ssize(*list));
    for (const Given& g : *list) {
      add_text(key, g.name);
      key.insert(key.end(),
                 {static_cast<std::int64_t>(g.dtype), g.rows ? 1 : 0, std::ssize(g.shape)});
      key.insert(key.end(), g.shape.begin(), g.shape.end());
    }
  }
  return key;
}

/// The outputs that are recorded values, not states.
Values recorded(const std::map<std::string, Value>& outputs,
                const std::vector<CarriedState>& states) {
  Values results;
  for (const auto& [name, value] : outputs)
    if (std::ranges::find(states, name, &CarriedState::name) == states.end())
      results.emplace(name, value.tensor());
  return results;
}

}  // namespace

std::vector<std::string> functions_of_expressions() { return names_of_calls(); }

struct Model::Impl {
  /// A model compiled for one set of LowerOptions.
  struct Compiled {
    Session session;
    std::vector<CarriedState> states;
  };

  Impl(ModelFile model, const SessionOptions& o) : graph(std::move(model.graph)), options(o) {
    session::report_warnings(options, model.findings);
  }

  Graph graph;
  SessionOptions options;
  mutable LruCache<Compiled> sessions{most_sessions};

  LowerOptions lowering(const Settings& s) const {
    check(s);
    LowerOptions o;
    o.record = s.record;
    o.functions.single_precision = s.single_precision;
    for (const auto& [name, t] : s.inputs) o.inputs.push_back(given_input(graph, name, t, s.steps));
    for (const auto& [name, t] : s.initial)
      o.initial.push_back(given_parameter(graph, name, t, o.functions));
    for (const auto& [name, t] : s.set)
      o.set.push_back(given_parameter(graph, name, t, o.functions));
    check_points(o, s);
    return o;
  }

  /// The same for a whole run, whose inputs must all have an effect.
  LowerOptions lowering_of_run(const Settings& s) const {
    LowerOptions o = lowering(s);
    check_edges(graph, s.inputs);
    return o;
  }

  Compiled make(const LowerOptions& o) const {
    ModelInfo info;
    info.graph_name = graph.id;
    Lowered lowered = lower(graph, o);
    return {session::FromGraph::make(std::move(lowered.graph), std::move(info), options),
            std::move(lowered.states)};
  }

  std::shared_ptr<const Compiled> compiled(const LowerOptions& o) const {
    return sessions.get(key_of(o), [&] { return make(o); });
  }
};

Model::Model(const std::filesystem::path& file, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(read({file, {}}), options)) {}
Model::Model(std::span<const std::byte> text, const SessionOptions& options)
    : impl_(std::make_unique<Impl>(read({std::nullopt, text}), options)) {}
Model::~Model() = default;
Model::Model(Model&&) noexcept = default;
Model& Model::operator=(Model&&) noexcept = default;

const std::string& Model::name() const { return impl_->graph.id; }
std::vector<std::string> Model::nodes() const {
  std::vector<std::string> out;
  for (const Node& n : impl_->graph.nodes) out.push_back(n.id);
  return out;
}
std::vector<std::string> Model::recordable() const { return mdf::recordable(impl_->graph); }

std::vector<std::string> Model::output_ports() const { return names(impl_->graph, &Node::outputs); }

std::vector<InputPortInfo> Model::input_ports() const {
  std::vector<InputPortInfo> out;
  for (const Node& n : impl_->graph.nodes)
    for (const InputPort& p : n.inputs) {
      InputPortInfo port{n.id + "." + p.id, std::string(mdf::name(p.reduce)), {}};
      if (const auto* given = std::get_if<Tensor>(&p.default_value)) port.default_value = *given;
      else if (!is_given(p.default_value)) port.default_value = Tensor::zeros(p.dtype, p.shape);
      out.push_back(std::move(port));
    }
  return out;
}

std::vector<std::string> Model::root_nodes() const {
  const std::vector<Node>& nodes = impl_->graph.nodes;
  const auto have = [&](const auto& property) {
    std::vector<std::string> out;
    for (std::size_t n = 0; n < nodes.size(); ++n)
      if (property(n)) out.push_back(nodes[n].id);
    return out;
  };
  std::vector<bool> receives(nodes.size());
  for (const Edge& e : impl_->graph.edges) receives[e.receiver] = true;
  std::vector<std::string> roots = have([&](std::size_t n) { return !receives[n]; });
  if (!roots.empty()) return roots;
  return have([&](std::size_t n) {
    return std::ranges::any_of(nodes[n].inputs,
                               [](const InputPort& p) { return is_given(p.default_value); });
  });
}

std::vector<std::string> Model::output_nodes() const {
  std::vector<bool> sends(impl_->graph.nodes.size());
  for (const Edge& e : impl_->graph.edges) sends[e.sender] = true;
  std::vector<std::string> out;
  for (std::size_t n = 0; n < sends.size(); ++n)
    if (!sends[n]) out.push_back(impl_->graph.nodes[n].id);
  return out;
}

std::vector<std::string> Model::parameters() const {
  return names(impl_->graph, &Node::parameters);
}
std::vector<std::string> Model::functions() const { return names(impl_->graph, &Node::functions); }

Values Model::run(const Settings& s, const RunOptions& options) const {
  const auto compiled = impl_->compiled(impl_->lowering_of_run(s));
  std::map<std::string, Value> feeds = given_feeds(s);
  feeds.emplace(steps_name, Tensor::scalar(s.steps));
  return recorded(compiled->session.run(feeds, options), {});
}

Session Model::compile(const Settings& s) const {
  LowerOptions o = impl_->lowering_of_run(s);
  o.steps = s.steps;
  o.dt = s.dt;
  const auto keep = [](std::vector<Given>& given, const std::map<std::string, Tensor>& values) {
    for (Given& g : given) g.otherwise = values.at(g.name).packed();
  };
  keep(o.inputs, s.inputs);
  keep(o.initial, s.initial);
  keep(o.set, s.set);
  return std::move(impl_->make(o).session);
}

std::vector<std::string> Model::varying_inputs(const Settings& s) const {
  std::vector<std::string> out;
  for (const Given& g : impl_->lowering_of_run(s).inputs)
    if (g.rows) out.push_back(g.name);
  return out;
}

bool Model::draws(const Settings& s) const {
  const auto compiled = impl_->compiled(impl_->lowering(s));
  const ir::Graph& g = session::FromGraph::of(compiled->session, true);
  return g.input(ir::InputRole::seed) != ir::ValueId::none;
}

struct Simulation::Impl {
  const Model::Impl& model;
  Settings settings;
  std::int64_t points = 0;  ///< of the sweep; 0: no sweep
  std::int64_t evaluated = 0;
  bool timeless = false;  ///< whether no time passes in the next evaluation
  std::map<std::string, Value> states = {};
  /// The dtypes of input ports, by name, which hold all values that the ports have had.
  std::map<std::string, DType> dtypes = {};

  /// The value of a state before the first evaluation.
  Tensor begin(const CarriedState& s) const {
    Shape shape = s.shape;
    if (points > 0) shape.insert(shape.begin(), points);
    return nothing(s.dtype, shape);
  }

  /// The value of a state after the earlier evaluations, in the type that it has now.
  Tensor carried(const CarriedState& s) const {
    const auto known = states.find(s.name);
    Tensor now = begin(s);
    if (known == states.end()) return now;
    const Tensor& before = known->second.tensor();
    if (const auto same = widened(before, s.dtype, now.shape(), points > 0 ? 1 : 0)) return *same;
    if (s.recomputed) return now;
    fail_at(
        s.name.substr(std::string_view("state ").size()),
        "it holds {} of an earlier evaluation; with the inputs given now it is {}, which cannot "
        "hold that",
        to_text(before.dtype(), before.shape()), to_text(now.dtype(), now.shape()));
  }

  /// Widens the inputs to the dtypes that their ports have had, as the states did. A port that is
  /// given nothing now has its default, widened likewise. Returns the dtypes after it.
  std::map<std::string, DType> widen(Values& inputs) const {
    std::map<std::string, DType> all = dtypes;
    const auto join = [&](const std::string& name, DType dtype) {
      const auto [at, fresh] = all.try_emplace(name, dtype);
      return at->second = promoted(at->second, dtype);
    };
    for (auto& [name, t] : inputs) {
      const DType dtype = join(name, t.dtype());
      if (auto wide = widened(t, dtype, t.shape())) t = std::move(*wide);
    }
    for (const Node& n : model.graph.nodes)
      for (const InputPort& p : n.inputs) {
        const std::string name = n.id + "." + p.id;
        const auto* given = std::get_if<Tensor>(&p.default_value);
        if (inputs.contains(name) || (given == nullptr && is_given(p.default_value))) continue;
        const Tensor zeros = given != nullptr ? *given : Tensor::zeros(p.dtype, p.shape);
        const DType dtype = join(name, zeros.dtype());
        if (dtype == zeros.dtype() || p.reduce != Reduce::overwrite) continue;
        if (auto wide = widened(zeros, dtype, zeros.shape())) inputs[name] = std::move(*wide);
      }
    return all;
  }
};

Simulation::Simulation(const Model& model, const Settings& settings)
    : impl_(std::make_unique<Impl>(Impl{*model.impl_, settings})) {
  const LowerOptions o = model.impl_->lowering(settings);
  for (const Given& g : o.initial)
    if (g.rows) impl_->points = settings.initial.at(g.name).shape()[0];
  for (const Given& g : o.set)
    if (g.rows) impl_->points = settings.set.at(g.name).shape()[0];
}
Simulation::Simulation(const Simulation& other) : impl_(std::make_unique<Impl>(*other.impl_)) {}
Simulation& Simulation::operator=(const Simulation& other) {
  if (this != &other) impl_ = std::make_unique<Impl>(*other.impl_);
  return *this;
}
Simulation::~Simulation() = default;
Simulation::Simulation(Simulation&&) noexcept = default;
Simulation& Simulation::operator=(Simulation&&) noexcept = default;

std::int64_t Simulation::evaluated() const { return impl_->evaluated; }
void Simulation::begin_anew() { impl_->timeless = true; }

Values Simulation::advance(std::int64_t evaluations, double dt, const Values& inputs,
                           const RunOptions& options) {
  require(evaluations >= 1, "evaluations is {}; expected 1 or more", evaluations);
  Settings s = impl_->settings;
  s.steps = evaluations - 1;
  s.dt = dt;
  s.inputs = inputs;
  check(s);
  std::map<std::string, DType> dtypes = impl_->widen(s.inputs);
  LowerOptions o = impl_->model.lowering(s);
  o.resumable = true;
  const auto compiled = impl_->model.compiled(o);
  std::map<std::string, Value> feeds = given_feeds(s);
  feeds.emplace(evaluations_name, Tensor::scalar(evaluations));
  feeds.emplace(evaluated_name, Tensor::scalar(impl_->evaluated));
  feeds.emplace(timeless_name, Tensor::scalar(impl_->timeless));
  for (const CarriedState& state : compiled->states)
    feeds.emplace(state.name, impl_->carried(state));
  RunOptions own = options;
  own.seed = options.seed + static_cast<std::uint64_t>(impl_->evaluated);
  std::map<std::string, Value> outputs = compiled->session.run(feeds, own);
  Values results = recorded(outputs, compiled->states);
  for (const CarriedState& state : compiled->states)
    impl_->states[state.name] = std::move(outputs.at(state.name));
  impl_->dtypes = std::move(dtypes);
  impl_->evaluated += evaluations;
  impl_->timeless = false;
  return results;
}

}  // namespace rondel::mdf
