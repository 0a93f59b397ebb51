#include "frontends/deepx/program.h"

#include "ir/infer.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace rondel::deepx {

Tensor zeros_view(DType dtype, const Shape& shape) {
  return Tensor::zeros(dtype, {}).strided(0, shape, Shape(shape.size(), 0));
}
namespace {

/// Whether the data can make the node fail. A block fails as its lines do.
bool data_can_fail(const ir::Graph& g, ir::NodeId n) {
  const std::vector<ir::RegionId>& regions = g.node(n).regions;
  if (regions.empty()) return ir::can_fail(g, n);
  return std::ranges::any_of(regions, [&](ir::RegionId r) {
    return std::ranges::any_of(g.region(r).nodes,
                               [&](ir::NodeId m) { return data_can_fail(g, m); });
  });
}

/// Makes every value whose computation can fail a result: a line that fails fails, though later
/// lines overwrite what it gives, or need it for nothing.
void add_failures(Pending& p) {
  const std::set<ir::ValueId> results(p.values.begin(), p.values.end());
  for (const ir::NodeId n : p.graph.root().nodes)
    if (data_can_fail(p.graph, n))
      std::ranges::copy_if(p.graph.node(n).outputs, std::back_inserter(p.values),
                           [&](ir::ValueId v) { return !results.contains(v); });
}

}  // namespace

Pending Program::take() {
  Pending p;
  for (const std::string& name : names_.changed()) {
    const auto* t = std::get_if<TensorEntry>(names_.find(name));
    if (t == nullptr || !std::holds_alternative<ir::ValueId>(t->value)) continue;
    p.outputs.push_back(name);
    p.values.push_back(std::get<ir::ValueId>(t->value));
  }
  hand_over_graph(p);
  return p;
}

void Program::hand_over_graph(Pending& p) {
  p.graph = std::move(graph_);
  p.inputs = std::move(inputs_);
  clear_graph();
  add_failures(p);
}

Pending Program::take_all(
    const std::function<bool(const std::string&, const TensorEntry&)>& wanted) {
  Pending p;
  for (const auto& [name, entry] : names_.all()) {
    const auto* t = std::get_if<TensorEntry>(&entry);
    if (t == nullptr || !wanted(name, *t)) continue;
    p.outputs.push_back(name);
    p.values.push_back(value_of(*t));
  }
  hand_over_graph(p);
  return p;
}

void Program::settle(std::span<const std::string> names, std::span<const Tensor> values) {
  for (std::size_t k = 0; k < names.size(); ++k) names_.settle(names[k], values[k]);
  keep();
}

void Program::keep() {
  names_.keep();
  settled_draws_ = draws_;
}

void Program::undo() {
  clear_graph();
  names_.undo_to(0);
  draws_ = settled_draws_;
}

void Program::clear_graph() {
  graph_ = ir::Graph();
  inputs_.clear();
  input_of_.clear();
  pending_ = false;
}

/// A graph value with several names is one output per name.
void Program::set(const std::string& name, Entry e) {
  const auto* t = std::get_if<TensorEntry>(&e);
  pending_ = pending_ || (t != nullptr && std::holds_alternative<ir::ValueId>(t->value));
  names_.set(name, std::move(e));
}

ir::ValueId Program::input(const Tensor& t) {
  const auto [at, fresh] = input_of_.try_emplace({t.data(), t.rank()}, ir::ValueId::none);
  if (fresh) {
    at->second = graph_.add_param(ir::RegionId::root, ir::Type::tensor(t.dtype(), t.shape()), "");
    inputs_.push_back(t);
  }
  return at->second;
}

ir::ValueId Program::value_of(const TensorEntry& t) {
  if (const auto* v = std::get_if<ir::ValueId>(&t.value)) return *v;
  if (const auto* block = std::get_if<Tensor>(&t.value)) return input(*block);
  ir::Builder b(graph_, ir::RegionId::root);
  return b("expand", {b.constant(Tensor::zeros(t.dtype, {})), b.integers(t.shape)});
}

ir::ValueId Program::read(const Scope& scope, std::string_view name, const TensorEntry& t) {
  if (scope.states != nullptr)
    if (const auto at = scope.states->find(name); at != scope.states->end()) return at->second;
  return value_of(t);
}

void Program::write(Scope& scope, const std::string& name, ir::ValueId v) {
  if (scope.states != nullptr) {
    scope.states->at(name) = v;
    return;
  }
  const auto& t = std::get<TensorEntry>(*names_.find(name));
  set(name, TensorEntry{t.dtype, t.shape, v});
}

Program::Mark Program::mark() const {
  return {names_.mark(), graph_.node_count(), graph_.root().params.size(), graph_.region_count(),
          draws_};
}

void Program::undo_to(const Mark& before) {
  names_.undo_to(before.names);
  draws_ = before.draws;
  for (std::size_t r = before.regions; r < graph_.region_count(); ++r)
    graph_.set_results(static_cast<ir::RegionId>(r), {});
  for (std::size_t n = graph_.node_count(); n > before.nodes; --n)
    if (const auto id = static_cast<ir::NodeId>(n - 1); !graph_.is_erased(id))
      graph_.erase_node(id);
  for (std::size_t k = graph_.root().params.size(); k > before.params; --k) {
    input_of_.erase({inputs_.back().data(), inputs_.back().rank()});
    inputs_.pop_back();
    graph_.erase_param(ir::RegionId::root, k - 1);
  }
}

}  // namespace rondel::deepx
