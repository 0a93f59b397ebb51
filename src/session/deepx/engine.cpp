#include "session/deepx/engine.h"

#include "base/error.h"
#include "frontends/deepx/dtypes.h"
#include "frontends/deepx/operands.h"
#include "gradients/gradient.h"
#include "session/deepx/files.h"
#include "session/deepx/graph_key.h"
#include "session/options.h"

namespace rondel::deepx {
namespace {

/// The number of plans that are cached; the least recently used plan is evicted first.
constexpr std::size_t most_plans = 256;

rondel::SessionOptions options_of_plans(const SessionOptions& o) {
  rondel::SessionOptions p;
  p.max_memory_bytes = o.max_memory_bytes;
  p.max_trips = o.max_trips;
  p.intra_op_num_threads = o.intra_op_num_threads;
  p.jit = o.jit;
  p.strict = true;  // results do not depend on which lines run together
  return session::checked(p);
}

/// A tensor that counts against the memory budget for as long as it is held. Blocks of `memory`
/// count anyway; for other tensors, bytes are claimed until the last owner releases them.
Tensor counted(runtime::Memory memory, Tensor t) {
  if (runtime::Memory::bytes_if_alone(t) > 0) return t;
  const std::size_t bytes = static_cast<std::size_t>(t.size()) * byte_size(t.dtype());
  memory.claim(bytes);
  std::shared_ptr<void> owner(
      t.data(), [memory, bytes, kept = t.owner()](void*) mutable { memory.unclaim(bytes); });
  return Tensor(t.dtype(), t.shape(), t.strides(), t.data(), std::move(owner));
}

Surroundings surroundings_in(const runtime::Memory& memory, const SessionOptions& o) {
  Surroundings s = surroundings_without_memory(o.seed);
  s.check_room = [most = o.max_memory_bytes, memory](DType t, const Shape& shape) {
    const std::size_t bytes = static_cast<std::size_t>(element_count(shape)) * byte_size(t);
    const std::size_t used = memory.in_use();
    if (bytes > most || used > most - bytes)
      throw_error(Blame::limit,
                  fmt::format("{} takes {} bytes; the memory budget is {}, of which {} are in use",
                              type_text(t, shape), bytes, most, used));
  };
  s.counted = [memory](Tensor t) { return counted(memory, std::move(t)); };
  return s;
}

}  // namespace

Surroundings surroundings_without_memory(std::uint64_t seed) {
  return {[](ir::Graph& g, ir::ValueId of, ir::ValueId adjoint, std::span<const ir::ValueId> by) {
            gradients::GradientRequest r;
            r.targets = {of};
            r.seed = {adjoint};
            r.wrt.assign(by.begin(), by.end());
            return gradients::add_gradient(g, r);
          },
          [](DType, const Shape&) {}, [](Tensor t) { return t; }, seed};
}

/// Of the frames of a plan, only those that name trips or lines of the program are kept.
Error at_line(const Error& e, const Position& at) {
  if (is_placed(e)) return e;
  std::vector<ErrorFrame> frames{{to_text(at)}};
  for (const ErrorFrame& f : e.frames())
    if (f.trip || f.source.find('\'') != std::string::npos) frames.push_back(f);
  return Error(e.blame(), e.message(), std::move(frames));
}

Engine::Engine(const SessionOptions& o)
    : options_(o), plan_options_(options_of_plans(o)),
      resources_(session::resources_for(plan_options_)),
      program_(surroundings_in(resources_.memory, o)), plans_(most_plans), line_plans_(most_plans) {
}

const Entry& Engine::entry(std::string_view name) const {
  const Entry* e = program_.names().find(name);
  require(e != nullptr, "there is no '{}'", name);
  return *e;
}

Tensor Engine::value(std::string_view name) const {
  const Entry& e = entry(name);
  if (const auto* a = std::get_if<Argument>(&e)) return a->value;
  if (const auto* v = std::get_if<Vector>(&e)) return v->values;
  const auto& t = std::get<TensorEntry>(e);
  if (const auto* block = std::get_if<Tensor>(&t.value)) return *block;
  invariant(std::holds_alternative<Zeros>(t.value), "'{}' has not been computed", name);
  Tensor zeros = runtime::Memory(resources_.memory).allocate(t.dtype, t.shape);
  zeros.assign(zeros_view(t.dtype, t.shape));
  return zeros;
}

void Engine::define(const std::string& name, const Tensor& t) {
  require_fit_for_programs(name, t);
  require(t.shape().size() <= most_dims, "'{}' would have {} dims; a tensor has at most {}", name,
          t.shape().size(), most_dims);
  Tensor copy = resources_.memory.allocate(t.dtype(), t.shape());
  copy.assign(t);
  program_.set(name, TensorEntry{t.dtype(), t.shape(), std::move(copy)});
  program_.keep();
}

rondel::Session Engine::planned(ir::Graph g) const {
  const std::size_t outputs = g.root().results.size();
  for (std::size_t k = 0; k < g.root().params.size(); ++k)
    g.input_names.push_back(fmt::format("in{}", k));
  for (std::size_t k = 0; k < outputs; ++k) g.output_names.push_back(fmt::format("out{}", k));
  g.declared_outputs.resize(outputs);
  return session::FromGraph::make(std::move(g), {}, plan_options_, resources_);
}

std::shared_ptr<const rondel::Session> Engine::plan_of(Pending& p) {
  return plans_.get(session::graph_key(p.graph, p.values), [&] {
    p.graph.set_results(ir::RegionId::root, p.values);
    return planned(std::move(p.graph));
  });
}

/// Results beyond the number of `outputs` are ignored.
void Engine::run(const rondel::Session& plan, std::span<const Tensor> inputs,
                 std::span<const std::string> outputs, const RunOptions& o) {
  std::vector<Tensor> results;
  for (Value& v : session::FromGraph::run(plan, {inputs.begin(), inputs.end()}, o))
    results.push_back(counted(resources_.memory, std::get<Tensor>(std::move(v))));
  program_.settle(outputs, results);
}

void Engine::compute(const RunOptions& o) {
  if (!program_.is_pending()) return program_.keep();
  Pending p = program_.take();
  if (p.values.empty()) return program_.settle({}, {});
  run(*plan_of(p), p.inputs, p.outputs, o);
}

void Engine::compute(const SingleLine& line, const RunOptions& o) {
  const auto plan = line_plans_.get(line.graph->key, [&] { return planned(line.graph->graph); });
  run(*plan, line.inputs, line.outputs, o);
}

}  // namespace rondel::deepx
