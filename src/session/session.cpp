#include <rondel/session.h>

#include "base/arithmetic.h"
#include "base/cancellation.h"
#include "base/error.h"
#include "base/fork.h"
#include "base/profiles.h"
#include "base/thread_pool.h"
#include "compile/check_mode.h"
#include "compile/plan_builder.h"
#include "ir/text.h"
#include "session/carried.h"
#include "session/fork_safe_plans.h"
#include "session/from_graph.h"
#include "session/options.h"
#include "session/ports.h"
#include "session/shared_constants.h"
#include "session/watchdog.h"

#include <algorithm>
#include <mutex>
#include <set>

namespace rondel {
namespace {

ir::Graph with_shared_constants(ir::Graph g) {
  session::share_constants(g);
  return g;
}

Tensor copied(const runtime::Run& run, const Tensor& t) {
  const Tensor copy(t.dtype(), t.shape());
  run.assign(t, copy);
  return copy;
}

/// A row-major tensor that is the only owner of its block.
bool is_alone(const Tensor& t) { return t.owner() && t.owner().use_count() <= 1 && t.contiguous(); }

/// A small part of a block, which would keep all of the block. Blocks of a page may be kept.
bool keeps_too_much(const Tensor& t) {
  constexpr std::size_t page = 4096;
  const std::size_t kept = runtime::Memory::bytes_kept(t);
  return kept > page && kept / 2 > static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
}

/// A value that shares no memory: the tensor itself if it is the only owner of its block and needs
/// most of it, or else a copy.
Value owned(const runtime::Run& run, Value v) {
  if (v.is_tensor()) {
    Tensor t = std::move(std::get<Tensor>(v));
    v = Value();
    return is_alone(t) && !keeps_too_much(t) ? t : copied(run, t);
  }
  if (v.is_sequence()) {
    Sequence copy{v.sequence().dtype, nullptr};
    std::vector<Tensor> items;
    for (const Tensor& item : *v.sequence().items) items.push_back(copied(run, item));
    copy.items = std::make_shared<const std::vector<Tensor>>(std::move(items));
    return copy;
  }
  if (v.is_map()) return Map{copied(run, v.map().keys), copied(run, v.map().values)};
  if (v.is_optional() && v.optional().held)
    return Optional{std::make_shared<const Value>(owned(run, *v.optional().held))};
  return v;
}

/// Values that are the caller's from now on: they no longer count against the session's budget.
std::vector<Value> given_away(std::vector<Value> values) {
  for (const Value& v : values) runtime::Memory::uncount(v);
  return values;
}

/// The same in place. If there is no memory for a copy, throws and leaves `v` unchanged.
void own(const runtime::Run& run, Value& v) {
  const auto* t = std::get_if<Tensor>(&v);
  if (t == nullptr || !is_alone(*t)) v = owned(run, v);
}

}  // namespace

struct Session::Impl {
  Impl(ir::Graph g, ModelInfo i, const SessionOptions& o, const session::SharedResources& shared)
      : options(session::checked(o)), info(std::move(i)),
        graph(with_shared_constants(std::move(g))), memory(shared.memory),
        plans([this, shared] { return std::make_unique<session::Plans>(graph, options, shared); }) {
    const auto& root = graph.root();
    for (std::size_t i = 0; i < root.params.size(); ++i) {
      if (graph.roles.contains(root.params[i])) continue;  // the seed, which is not fed by name
      input_names.push_back(graph.input_names[i]);
      inputs.push_back(session::port(input_names[i], graph.value(root.params[i]).type));
      inputs.back().has_default = graph.defaults.contains(root.params[i]);
    }
    for (std::size_t j = 0; j < root.results.size(); ++j)
      outputs.push_back(session::port(graph.output_names[j], session::output_type(graph, j)));
  }

  /// The values of the inputs in order, checked. `carried`: values of the inputs that are not fed.
  std::vector<Value> bind(const std::map<std::string, Value>& feeds,
                          std::span<const session::Carried> carried) const {
    std::vector<const Value*> given(input_names.size());
    for (const session::Carried& c : carried) given[c.input] = &c.value;
    for (const auto& [name, value] : feeds) {
      const std::size_t i = position(input_names, name, "input");
      require(given[i] == nullptr, "input '{}' is carried from step to step; it is not fed", name);
      given[i] = &value;
    }
    return checked(given);
  }

  /// `inputs`: in order; an undefined value for an input that is left out.
  std::vector<Value> bind(std::span<const Value> inputs) const {
    require(inputs.size() == input_names.size(), "{} values are given; the model has {} inputs",
            inputs.size(), input_names.size());
    std::vector<const Value*> given;
    for (const Value& v : inputs) given.push_back(&v);
    return checked(given);
  }

  /// `given`: for each input its value; null or undefined if it is left out.
  std::vector<Value> checked(std::span<const Value* const> given) const {
    std::vector<Value> values;
    for (std::size_t i = 0; i < input_names.size(); ++i) {
      const ir::ValueId v = graph.root().params[i];
      const ir::Type& type = graph.value(v).type;
      const auto initial = graph.defaults.find(v);
      Value value = given[i] == nullptr ? Value() : *given[i];
      if (!value.defined() && initial != graph.defaults.end()) {
        values.emplace_back(initial->second);
        continue;
      }
      session::check_feed(input_names[i], value, type);
      if (type.is_optional() && !value.is_optional())
        value = value.defined() ? Optional{std::make_shared<const Value>(value)} : Optional{};
      values.push_back(std::move(value));
    }
    return values;
  }

  static std::string names(const std::vector<std::string>& all) {
    std::string text;
    for (const std::string& n : all) text += (text.empty() ? "'" : ", '") + n + "'";
    return text.empty() ? "none" : text;
  }

  /// The number of an input or output. `what`: "input" or "output".
  static std::size_t position(const std::vector<std::string>& known, const std::string& name,
                              std::string_view what) {
    const auto at = std::find(known.begin(), known.end(), name);
    require(at != known.end(), "there is no {} '{}'; the {}s are {}", what, name, what,
            names(known));
    return static_cast<std::size_t>(at - known.begin());
  }

  /// The output is shown as the list of maps that it is in the file.
  void set_map_keys(const std::string& name, Tensor keys) {
    for (PortInfo& p : outputs) {
      if (p.name != name) continue;
      p.type = fmt::format("seq(map({},tensor(float)))",
                           keys.dtype() == DType::string ? "string" : "int64");
      p.map_keys = std::move(keys);
      p.shape.reset();
      return;
    }
  }

  /// The numbers of named outputs; of all outputs if none is named.
  std::vector<std::size_t> numbers_of(std::span<const std::string> named) const {
    std::vector<std::size_t> wanted;
    for (const std::string& name : named)
      wanted.push_back(position(graph.output_names, name, "output"));
    if (named.empty())
      for (std::size_t j = 0; j < graph.output_names.size(); ++j) wanted.push_back(j);
    return wanted;
  }

  /// `carried`: values that the run reads and replaces; see Stepper.
  std::vector<Value> run(std::span<const std::size_t> wanted,
                         const std::map<std::string, Value>& feeds, const RunOptions& o,
                         std::span<session::Carried> carried = {}) const {
    return run(
        wanted, [&] { return bind(feeds, carried); }, o, carried);
  }

  /// `inputs()` returns the values of the inputs in order, checked.
  std::vector<Value> run(std::span<const std::size_t> wanted, const auto& inputs,
                         const RunOptions& o, std::span<session::Carried> carried = {}) const {
    const ArithmeticScope arithmetic(session::arithmetic_of(options));
    session::checked(o);
    runtime::Memory within = o.max_memory_bytes < options.max_memory_bytes
                                 ? memory.within(o.max_memory_bytes)
                                 : memory;
    const ThreadPool::Turn turn;
    const ThreadScope scope(threads);
    runtime::Run run{within, std::min(options.max_trips, o.max_trips), o.seed, threads};
    run.own_trips = o.max_trips < options.max_trips;
    std::optional<runtime::RunTrace> trace;
    if (options.profile) run.trace = &trace.emplace(*options.profile, memory);
    session::Watch watch(run, o);
    const CancellationScope cancellation(
        [](const void* r) { static_cast<const runtime::Run*>(r)->check_stop(); }, &run);
    std::vector<Value> results;
    {
      std::vector<Value> values = inputs();
      const session::ForkSafePlans::Use planned(plans);
      const session::Plans::Choice choice = planned->choose(values, {run, watch.deadline()});
      const runtime::Plan& p = choice.plan();
      const runtime::FrameLease frame(p, run);
      for (std::size_t i = 0; i < values.size(); ++i) frame->set(p.params[i], std::move(values[i]));
      if (p.seed >= 0) frame->set(p.seed, Tensor::scalar<std::uint64_t>(o.seed));
      if (carried.empty()) frame->execute();
      else session::execute_step(*frame, watch, carried);
      for (const std::size_t j : wanted) results.push_back((*frame)[p.results[j]]);
    }
    for (Value& v : results) v = owned(run, std::move(v));
    for (session::Carried& c : carried) own(run, c.value);
    return results;
  }

  SessionOptions options;
  const int threads = options.intra_op_num_threads > 0 ? options.intra_op_num_threads
                                                       : core_count();
  ModelInfo info;
  session::ModelVersions versions;
  ir::Graph graph;                       ///< as imported
  std::vector<std::string> input_names;  ///< of inputs that are fed by name
  runtime::Memory memory;
  const session::ForkSafePlans plans;
  std::vector<PortInfo> inputs, outputs;
};

Session::Session(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Session::~Session() = default;
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;

lowering::LoweringOptions session::lowering_options(const SessionOptions& o, bool interpreting) {
  return {.fuse = o.graph_optimization_level > 0,
          .fast_kernels = !interpreting && !o.strict,
          .evaluate = compile::make_evaluator(),
          .verify = compile::verifies()};
}

void session::FromGraph::describe(Session& s, std::map<std::string, Tensor> map_keys,
                                  const ModelVersions& versions) {
  for (auto& [name, keys] : map_keys) s.impl_->set_map_keys(name, std::move(keys));
  s.impl_->versions = versions;
}

const SessionOptions& session::FromGraph::options(const Session& s) { return s.impl_->options; }

const session::ModelVersions& session::FromGraph::versions(const Session& s) {
  return s.impl_->versions;
}

Session session::FromGraph::make(ir::Graph graph, ModelInfo info, const SessionOptions& o,
                                 const SharedResources& shared) {
  return Session(std::make_unique<Session::Impl>(std::move(graph), std::move(info), o, shared));
}

std::vector<Value> session::FromGraph::run(const Session& s, std::vector<Value> inputs,
                                           const RunOptions& o) {
  return s.impl_->run(
      s.impl_->numbers_of({}), [&] { return std::move(inputs); }, o);
}

const ir::Graph& session::FromGraph::of(const Session& s, bool compiled) {
  return compiled ? s.impl_->plans.now().graph() : s.impl_->graph;
}

const std::vector<PortInfo>& Session::inputs() const { return impl_->inputs; }
const std::vector<PortInfo>& Session::outputs() const { return impl_->outputs; }
const ModelInfo& Session::info() const { return impl_->info; }

std::map<std::string, Value> Session::run(const std::map<std::string, Value>& feeds,
                                          const RunOptions& o) const {
  const std::vector<Value> values = run({}, feeds, o);
  std::map<std::string, Value> named;
  for (std::size_t j = 0; j < values.size(); ++j) named[impl_->outputs[j].name] = values[j];
  return named;
}

std::vector<Value> Session::run(std::span<const std::string> outputs,
                                const std::map<std::string, Value>& feeds,
                                const RunOptions& o) const {
  return given_away(impl_->run(impl_->numbers_of(outputs), feeds, o));
}

std::vector<Value> Session::run_in_order(std::span<const Value> inputs, const RunOptions& o) const {
  return given_away(impl_->run(
      impl_->numbers_of({}), [&] { return impl_->bind(inputs); }, o));
}

bool Session::draws() const { return impl_->plans.now().general().seed >= 0; }

std::map<std::string, std::string> Session::how_it_ran(bool tiers) const {
  return impl_->plans.now().log().all(tiers);
}

std::string Session::ir_text(bool imported) const {
  return ir::to_text(imported ? impl_->graph : impl_->plans.now().graph());
}

struct Stepper::Impl {
  explicit Impl(const Session::Impl& s) : session(s) {}

  const Session::Impl& session;
  std::vector<session::Carried> carried;
  mutable std::mutex mutex;

  void add(const std::string& input, const std::string& output,
           const std::map<std::string, Value>& values) {
    const ir::Graph& g = session.graph;
    const std::size_t i = Session::Impl::position(session.input_names, input, "input");
    const std::size_t j = Session::Impl::position(g.output_names, output, "output");
    const std::string& given = session.outputs[j].type;
    require(given == session.inputs[i].type, "input '{}' is {}, but output '{}' is {}", input,
            session.inputs[i].type, output, given);
    const auto value = values.find(input);
    require(value != values.end(), "the carried input '{}' has no value", input);
    session::check_feed(input, value->second, g.value(g.root().params[i]).type);
    carried.push_back({i, j, value->second});
  }
  session::Carried& find(const std::string& input) {
    const std::size_t i = Session::Impl::position(session.input_names, input, "input");
    const auto at = std::ranges::find(carried, i, &session::Carried::input);
    require(at != carried.end(), "input '{}' is not carried", input);
    return *at;
  }
  std::unique_lock<std::mutex> lock() const {
    std::unique_lock held(mutex, std::try_to_lock);
    require(held.owns_lock(), "a step of this stepper is under way in another thread");
    return held;
  }
};

Stepper::Stepper(const Session& session, const std::map<std::string, std::string>& carried,
                 const std::map<std::string, Value>& values)
    : impl_(std::make_unique<Impl>(*session.impl_)) {
  for (const auto& [input, output] : carried) impl_->add(input, output, values);
  for (const auto& [input, value] : values)
    require(carried.contains(input), "a value is given for '{}', which is not carried", input);
}
Stepper::~Stepper() = default;
Stepper::Stepper(Stepper&&) noexcept = default;
Stepper& Stepper::operator=(Stepper&&) noexcept = default;

std::vector<Value> Stepper::step(std::span<const std::string> outputs,
                                 const std::map<std::string, Value>& feeds, const RunOptions& o) {
  const auto held = impl_->lock();
  const std::vector<std::size_t> wanted = outputs.empty() ? std::vector<std::size_t>()
                                                          : impl_->session.numbers_of(outputs);
  return given_away(impl_->session.run(wanted, feeds, o, impl_->carried));
}

Value Stepper::value(const std::string& input) const {
  const auto held = impl_->lock();
  return impl_->find(input).value;
}

void Stepper::set(const std::string& input, Value v) {
  const auto held = impl_->lock();
  session::Carried& c = impl_->find(input);
  const ir::Graph& g = impl_->session.graph;
  session::check_feed(input, v, g.value(g.root().params[c.input]).type);
  c.value = std::move(v);
}

}  // namespace rondel
