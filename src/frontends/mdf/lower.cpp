#include "frontends/mdf/lower.h"

#include "base/error.h"
#include "frontends/mdf/arithmetic.h"
#include "frontends/mdf/evaluation.h"
#include "frontends/mdf/schedule.h"
#include "frontends/mdf/scheduler.h"
#include "ir/infer.h"

#include <algorithm>
#include <limits>

namespace rondel::mdf {
namespace {

/// The maximum number of rounds of type inference; a type that still changes then is an error.
constexpr int most_rounds = 12;

/// The parameter or input port with a name of `Given`. Throws Error(caller) if there is none.
template <class T>
const T& find(const Graph& g, const std::string& name, std::vector<T> Node::*items,
              std::string_view what) {
  std::vector<std::string> names;
  for (const Node& n : g.nodes)
    for (const T& item : n.*items) {
      names.push_back(n.id + "." + item.id);
      if (names.back() == name) return item;
    }
  fail("there is no {} '{}'; {}", what, name, known_names(name, names));
}

/// The common broadcast shape of two shapes; nothing if there is none.
std::optional<Shape> broadcast(const Shape& a, const Shape& b) {
  const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
  Shape out = longer;
  for (std::size_t k = 0; k < shorter.size(); ++k) {
    std::int64_t& extent = out[out.size() - 1 - k];
    const std::int64_t other = shorter[shorter.size() - 1 - k];
    if (extent != other && extent != 1 && other != 1) return std::nullopt;
    if (extent == 1) extent = other;
  }
  return out;
}

/// Lowers a model to a graph. The types of slots are inferred by lowering trial evaluations.
class Lowering {
 public:
  Lowering(const Graph& g, const LowerOptions& o)
      : model_(g), options_(o), layout_(g, o.record), sets_(consideration_sets(g)) {
    if (!has_conditions(g)) return;
    scheduler_.emplace(g);
    scheduler_->keep_read_values(layout_);
  }

  Lowered run() {
    find_types();
    Lowered out;
    ir::Graph& g = out.graph;
    g.name = model_.id;
    ir::Builder b(g, ir::RegionId::root);
    GraphInputs graph_inputs = add_inputs(b);
    if (options_.resumable) out.states = add_states(b, graph_inputs);
    const Simulated results = swept_ ? sweep(b, graph_inputs) : simulate(b, graph_inputs);
    const auto give = [&](ValueId v, const std::string& name) {
      g.add_result(ir::RegionId::root, v);
      g.output_names.push_back(name);
      g.declared_outputs.emplace_back();
    };
    for (std::size_t k = 0; k < results.records.size(); ++k)
      give(results.records[k], layout_.names[k]);
    for (std::size_t k = 0; k < out.states.size(); ++k) give(results.states[k], out.states[k].name);
    ir::infer_types(g);
    return out;
  }

  /// The layout, after type inference.
  const Layout& typed_layout() {
    find_types();
    return layout_;
  }

 private:
  /// The inputs of the graph, in the order of the options.
  struct GraphInputs {
    ValueId evaluations, dt;
    ValueId evaluated = ValueId::none;  ///< number of earlier evaluations; none: 0
    ValueId timeless = ValueId::none;   ///< whether the first one takes no time; none: false
    std::vector<ValueId> inputs, initial, set;
    std::vector<ValueId> states;  ///< states after earlier evaluations, if resumable
  };
  struct Simulated {
    std::vector<ValueId> records, states;
  };

  void find_types();
  Shape shape_in(const Slot&, const ir::Builder&, ValueId) const;
  const Slot* widen(const std::vector<ValueId>&, const ir::Builder&);
  ValueId add_input(ir::Builder&, const Given&, std::string_view kind,
                    std::vector<ir::Extent> rows);
  GraphInputs add_inputs(ir::Builder&);
  bool is_recomputed(const Slot&) const;
  std::vector<CarriedState> add_states(ir::Builder&, GraphInputs&);
  Simulated sweep(ir::Builder&, const GraphInputs&);
  Simulated simulate(ir::Builder&, const GraphInputs&);
  EvaluationContext context(const GraphInputs&, ValueId first) const;
  std::vector<ValueId> evaluate_all(ir::Builder&, const EvaluationContext&,
                                    std::vector<ValueId> before, ValueId executed) const;
  Scheduler::State begin(ir::Builder&) const;
  Scheduler::State evaluate(ir::Builder&, const EvaluationContext&, Scheduler::State,
                            ValueId executed) const;
  ValueId begin(ir::Builder&, const Slot&) const;

  const Graph& model_;
  const LowerOptions& options_;
  Layout layout_;
  std::vector<std::vector<std::size_t>> sets_;
  std::optional<Scheduler> scheduler_;  ///< if the model has conditions
  bool swept_ = false;
};

/// The value of a slot before its node is executed.
ValueId Lowering::begin(ir::Builder& b, const Slot& s) const {
  return fitted(b, b.constant(nothing(s.dtype, {})), s.dtype, s.shape);
}

EvaluationContext Lowering::context(const GraphInputs& graph_inputs, ValueId first) const {
  EvaluationContext s{.graph = model_,
                      .layout = layout_,
                      .first = first,
                      .dt = graph_inputs.dt,
                      .inputs = {},
                      .replacements = {},
                      .functions = options_.functions};
  for (std::size_t k = 0; k < graph_inputs.inputs.size(); ++k)
    s.inputs[&find(model_, options_.inputs[k].name, &Node::inputs, "input port")] =
        graph_inputs.inputs[k];
  for (std::size_t k = 0; k < graph_inputs.initial.size(); ++k) {
    const Parameter& p = find(model_, options_.initial[k].name, &Node::parameters, "parameter");
    require(is_stateful(p),
            "initial: parameter '{}' has no state: it has neither a "
            "default_initial_value nor a value that reads itself; set it instead",
            options_.initial[k].name);
    s.replacements.initials[&p] = graph_inputs.initial[k];
  }
  for (std::size_t k = 0; k < graph_inputs.set.size(); ++k)
    s.replacements.values[&find(model_, options_.set[k].name, &Node::parameters, "parameter")] =
        graph_inputs.set[k];
  return s;
}

/// Executes every node once, in order. This is an evaluation without conditions, and the trial
/// evaluation for type inference in any case.
std::vector<ValueId> Lowering::evaluate_all(ir::Builder& b, const EvaluationContext& s,
                                            std::vector<ValueId> before, ValueId executed) const {
  const Executed perhaps{false, executed};
  Table table{std::move(before), std::vector<Executed>(model_.nodes.size(), perhaps)};
  for (const auto& set : sets_)
    for (const std::size_t node : set) {
      execute_node(b, s, node, table);
      if (scheduler_ && executed != ValueId::none) table.executed[node] = perhaps;
    }
  return table.values;
}

/// The state before the first evaluation.
Scheduler::State Lowering::begin(ir::Builder& b) const {
  Scheduler::State state;
  for (const Slot& s : layout_.slots) state.values.push_back(begin(b, s));
  if (!scheduler_) return state;
  state.executed.assign(model_.nodes.size(), b.scalar(false));
  state.counters = scheduler_->counters().begin(b);
  return state;
}

Scheduler::State Lowering::evaluate(ir::Builder& b, const EvaluationContext& s,
                                    Scheduler::State before, ValueId executed) const {
  if (scheduler_) return scheduler_->evaluate(b, s, std::move(before));
  Scheduler::State after;
  after.values = evaluate_all(b, s, std::move(before.values), executed);
  for (std::size_t k = 0; k < after.values.size(); ++k)
    after.values[k] = fitted(b, after.values[k], layout_.slots[k].dtype, layout_.slots[k].shape);
  return after;
}

/// The extents of a value of the slot, which must be known before the model runs.
Shape Lowering::shape_in(const Slot& s, const ir::Builder& b, ValueId v) const {
  const ir::Type& t = b.graph().value(v).type;
  if (!t.is_tensor() || !t.is_static())
    unsupported("{}: its value is {}; expected extents that are known before the model runs",
                where(model_, s), ir::to_text(t));
  return t.static_shape();
}

/// Widens the types of slots to hold these values. Returns the first slot whose type has changed,
/// preferably its extents; null if there is none.
const Slot* Lowering::widen(const std::vector<ValueId>& after, const ir::Builder& b) {
  const Slot *changed = nullptr, *grown = nullptr;
  for (std::size_t k = 0; k < after.size(); ++k) {
    Slot& s = layout_.slots[k];
    const DType dtype = promoted(s.dtype, dtype_of(b, after[k]));
    const Shape shape = shape_in(s, b, after[k]);
    const auto both = broadcast(s.shape, shape);
    if (!both)
      fail_at(where(model_, s), "its value changes from {} to {}", to_text(s.dtype, s.shape),
              to_text(dtype_of(b, after[k]), shape));
    if (changed == nullptr && dtype != s.dtype) changed = &s;
    if (grown == nullptr && *both != s.shape) grown = &s;
    s.dtype = dtype;
    s.shape = *both;
  }
  return grown != nullptr ? grown : changed;
}

/// Infers the types of slots: the types after a first evaluation, widened until they are a fixed
/// point of a later one.
void Lowering::find_types() {
  const Slot* changed = nullptr;
  for (int round = 0; round < most_rounds; ++round) {
    ir::Graph scratch;
    ir::Builder b(scratch, ir::RegionId::root);
    const GraphInputs graph_inputs = add_inputs(b);
    const ValueId first = scratch.add_param(ir::RegionId::root, ir::Type::scalar(DType::boolean),
                                            "first");
    std::vector<ValueId> before(layout_.slots.size(), ValueId::none);
    for (std::size_t k = 0; round > 0 && k < before.size(); ++k)
      before[k] = begin(b, layout_.slots[k]);
    GraphInputs point = graph_inputs;
    const auto one = [&](std::vector<ValueId>& values, const std::vector<Given>& given) {
      for (std::size_t k = 0; k < values.size(); ++k)
        if (given[k].rows) values[k] = b("gather", {values[k], b.scalar(std::int64_t{0})});
    };
    one(point.inputs, options_.inputs);
    one(point.initial, options_.initial);
    one(point.set, options_.set);
    const std::vector<ValueId> after = evaluate_all(b, context(point, first), before,
                                                    round > 0 ? first : ValueId::none);
    if (round == 0) {
      for (std::size_t k = 0; k < after.size(); ++k) {
        layout_.slots[k].dtype = dtype_of(b, after[k]);
        layout_.slots[k].shape = shape_in(layout_.slots[k], b, after[k]);
      }
    } else {
      changed = widen(after, b);
      if (changed == nullptr) return;
    }
  }
  fail_at(where(model_, *changed), "the extents of its value grow from evaluation to evaluation");
}

ValueId Lowering::add_input(ir::Builder& b, const Given& given, std::string_view kind,
                            std::vector<ir::Extent> rows) {
  ir::Extents extents(rows.begin(), rows.end());
  for (const std::int64_t e : given.shape) extents.push_back(ir::Extent(e));
  ir::Graph& g = b.graph();
  const std::string name = fmt::format("{} {}", kind, given.name);
  const ValueId v = g.add_param(ir::RegionId::root, ir::Type::tensor(given.dtype, extents), name);
  g.input_names.push_back(name);
  if (given.otherwise) g.defaults.emplace(v, *given.otherwise);
  return v;
}

Lowering::GraphInputs Lowering::add_inputs(ir::Builder& b) {
  ir::Graph& g = b.graph();
  const auto scalar = [&](const char* name, DType dtype, Tensor otherwise) {
    const ValueId v = g.add_param(ir::RegionId::root, ir::Type::scalar(dtype), name);
    g.input_names.emplace_back(name);
    g.defaults.emplace(v, std::move(otherwise));
    return v;
  };
  GraphInputs out;
  if (options_.resumable) {
    out.evaluations = scalar(evaluations_name, DType::i64, Tensor::scalar<std::int64_t>(1));
    out.evaluated = scalar(evaluated_name, DType::i64, Tensor::scalar<std::int64_t>(0));
    out.timeless = scalar(timeless_name, DType::boolean, Tensor::scalar(false));
  } else {
    const ValueId steps = scalar(steps_name, DType::i64, Tensor::scalar(options_.steps));
    out.evaluations = b("add", {steps, b.scalar(std::int64_t{1})});
  }
  out.dt = scalar(dt_name, DType::f64, Tensor::scalar(options_.dt));
  const auto all = [&](const std::vector<Given>& given, std::string_view kind, const char* rows,
                       std::vector<ValueId>& values) {
    for (const Given& x : given) {
      std::vector<ir::Extent> first;
      if (x.rows) first.push_back(ir::Extent::named(rows));
      values.push_back(add_input(b, x, kind, std::move(first)));
    }
  };
  all(options_.inputs, "input", "evaluations", out.inputs);
  all(options_.initial, "initial", "points", out.initial);
  all(options_.set, "set", "points", out.set);
  const auto is_swept = [](const Given& x) { return x.rows; };
  swept_ = std::ranges::any_of(options_.initial, is_swept) ||
           std::ranges::any_of(options_.set, is_swept);
  return out;
}

/// Whether no evaluation reads what an earlier one left in a slot.
bool Lowering::is_recomputed(const Slot& s) const {
  if (scheduler_ || s.role == Role::parameter) return false;
  return s.role != Role::output_port || std::ranges::none_of(model_.edges, [&](const Edge& e) {
           return e.sender == s.node && e.sender_port == s.at;
         });
}

/// Adds the carried states of a resumable graph as inputs.
std::vector<CarriedState> Lowering::add_states(ir::Builder& b, GraphInputs& graph_inputs) {
  std::vector<CarriedState> states;
  for (const Slot& s : layout_.slots)
    states.push_back({"state " + where(model_, s), s.dtype, s.shape, is_recomputed(s)});
  for (std::size_t n = 0; scheduler_ && n < model_.nodes.size(); ++n)
    states.push_back({"executed " + where(model_.nodes[n]), DType::boolean, {}, false});
  if (scheduler_)
    for (const Counter& c : scheduler_->counters().all())
      states.push_back({fmt::format("count {}", states.size()), Counters::dtype(c), {}, false});
  for (const CarriedState& s : states) {
    ir::Extents extents;
    if (swept_) extents.push_back(ir::Extent::named("points"));
    for (const std::int64_t e : s.shape) extents.push_back(ir::Extent(e));
    graph_inputs.states.push_back(b.graph().add_param(
        ir::RegionId::root, ir::Type::tensor(s.dtype, std::move(extents)), s.name));
    b.graph().input_names.push_back(s.name);
  }
  return states;
}

/// A loop over the points of a sweep, with a simulation in its body. The values of a point are
/// elements of scans.
Lowering::Simulated Lowering::sweep(ir::Builder& b, const GraphInputs& graph_inputs) {
  ir::LoopParts parts;
  std::vector<ValueId> scans;
  const auto scan = [&](const std::vector<ValueId>& values, const std::vector<Given>& given) {
    for (std::size_t k = 0; k < values.size(); ++k)
      if (given[k].rows) scans.push_back(values[k]);
  };
  scan(graph_inputs.initial, options_.initial);
  scan(graph_inputs.set, options_.set);
  scans.insert(scans.end(), graph_inputs.states.begin(), graph_inputs.states.end());
  const std::size_t records = layout_.recorded.size();
  parts.scans = scans.size();
  parts.stacks = records + graph_inputs.states.size();
  parts.axis_out.assign(parts.stacks, 0);
  std::fill_n(parts.axis_out.begin(), records, 1);
  b.source("the sweep");
  const auto body = [&](ir::Builder& inner, std::span<const ValueId> params) {
    GraphInputs point = graph_inputs;
    std::size_t next = 2;
    const auto take = [&](std::vector<ValueId>& values, const std::vector<Given>& given) {
      for (std::size_t k = 0; k < values.size(); ++k)
        if (given[k].rows) values[k] = params[next++];
    };
    take(point.initial, options_.initial);
    take(point.set, options_.set);
    for (ValueId& v : point.states) v = params[next++];
    const Simulated results = simulate(inner, point);
    std::vector<ValueId> out{params[1]};
    out.insert(out.end(), results.records.begin(), results.records.end());
    if (options_.resumable) out.insert(out.end(), results.states.begin(), results.states.end());
    return out;
  };
  const std::vector<ValueId> outputs = b.loop(parts, scans, body);
  const auto first_state = outputs.begin() + static_cast<std::ptrdiff_t>(records);
  return {{outputs.begin(), first_state},
          {first_state, first_state + static_cast<std::ptrdiff_t>(graph_inputs.states.size())}};
}

/// The loop over evaluations.
Lowering::Simulated Lowering::simulate(ir::Builder& b, const GraphInputs& graph_inputs) {
  b.source("the simulation");
  Scheduler::State before = begin(b);
  if (options_.resumable) before = before.like(graph_inputs.states);
  ir::LoopParts parts;
  parts.has_trips = true;
  parts.states = before.size();
  parts.stacks = layout_.recorded.size();
  std::vector<ValueId> inputs{graph_inputs.evaluations};
  before.append_to(inputs);
  for (std::size_t k = 0; k < graph_inputs.inputs.size(); ++k)
    if (options_.inputs[k].rows) {
      inputs.push_back(graph_inputs.inputs[k]);
      ++parts.scans;
    }
  const auto body = [&](ir::Builder& inner, std::span<const ValueId> params) {
    for (std::size_t k = 0; k < layout_.slots.size(); ++k)
      inner.graph().value(params[2 + k]).name = name(model_, layout_.slots[k]);
    GraphInputs now = graph_inputs;
    std::size_t next = 2 + parts.states;
    for (std::size_t k = 0; k < now.inputs.size(); ++k)
      if (options_.inputs[k].rows) now.inputs[k] = params[next++];
    ValueId first = inner("equal", {params[0], inner.scalar(std::int64_t{0})});
    ValueId executed = inner("not", {first});
    if (options_.resumable) {
      const ValueId made = inner("add", {params[0], graph_inputs.evaluated});
      executed = inner("not", {inner("equal", {made, inner.scalar(std::int64_t{0})})});
      first = inner("or", {inner("not", {executed}), inner("and", {first, graph_inputs.timeless})});
    }
    const Scheduler::State after = evaluate(inner, context(now, first),
                                            before.like(params.subspan(2)), executed);
    std::vector<ValueId> results{params[1]};
    after.append_to(results);
    for (const std::size_t k : layout_.recorded) results.push_back(after.values[k]);
    return results;
  };
  const std::vector<ValueId> outputs = b.loop(parts, inputs, body);
  const auto stacks = outputs.begin() + static_cast<std::ptrdiff_t>(parts.states);
  return {{stacks, stacks + static_cast<std::ptrdiff_t>(parts.stacks)}, {outputs.begin(), stacks}};
}

}  // namespace

Lowered lower(const Graph& g, const LowerOptions& o) { return Lowering(g, o).run(); }

Tensor nothing(DType dtype, const Shape& shape) {
  Tensor t = Tensor::zeros(dtype, shape);
  constexpr double nan = std::numeric_limits<double>::quiet_NaN();
  if (dtype == DType::f64) std::fill_n(t.data_as<double>(), t.size(), nan);
  if (dtype == DType::f32) std::fill_n(t.data_as<float>(), t.size(), static_cast<float>(nan));
  return t;
}

const InputPort& input_port(const Graph& g, const std::string& name) {
  return find(g, name, &Node::inputs, "input port");
}

Shape shape_of_parameter(const Graph& g, const std::string& name,
                         const FunctionOptions& functions) {
  const Parameter& p = find(g, name, &Node::parameters, "parameter");
  if (p.is_constant()) return std::get<Tensor>(p.value).shape();
  LowerOptions o;
  o.functions = functions;
  o.record = {name};
  Lowering lowering(g, o);
  const Layout& layout = lowering.typed_layout();
  for (const Slot& s : layout.slots)
    if (s.role == Role::parameter && &g.nodes[s.node].parameters[s.at] == &p) return s.shape;
  broken_invariant("parameter '{}' has no slot", name);
}

const Edge* overwriting_edge(const Graph& g, const InputPort& port) {
  if (port.reduce != Reduce::overwrite || has_conditions(g)) return nullptr;
  std::vector<bool> has_run(g.nodes.size(), false);
  for (const auto& set : consideration_sets(g))
    for (const std::size_t n : set) {
      for (const Edge& e : g.edges)
        if (e.receiver == n && has_run[e.sender] && &g.nodes[n].inputs[e.receiver_port] == &port)
          return &e;
      has_run[n] = true;
    }
  return nullptr;
}

}  // namespace rondel::mdf
