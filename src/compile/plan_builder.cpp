#include "compile/plan_builder.h"

#include "base/error.h"
#include "compile/late_expansion.h"
#include "compile/loop_builder.h"
#include "compile/region_code.h"
#include "compile/steps.h"
#include "lowering/extract.h"
#include "lowering/group.h"
#include "ops/layout/concat.h"
#include "ops/meaning.h"
#include "runtime/append.h"
#include "runtime/branch.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>

namespace rondel::compile {
namespace {

using ir::NodeId;
using ir::RegionId;
using ir::ValueId;
using runtime::Plan;
using runtime::Slot;

class PlanBuilder {
 public:
  PlanBuilder(const BuildContext& b, RegionId r) : b_(b), g_(*b.graph), region_(r) {}

  Plan run(const std::function<Slot(ValueId)>& outer) {
    const ir::Region& region = g_.region(region_);
    const ValueId seed = g_.input(ir::InputRole::seed);
    for (const ValueId v : region.params)
      if (v == seed) plan_.seed = slot(v);
      else plan_.params.push_back(slot(v));
    for (const ValueId v : g_.captures(region_))
      if (g_.constant(v) == nullptr) plan_.captures.emplace_back(outer(v), slot(v));
    const ir::TypeEnvironment k = ir::type_environment(g_);
    const auto sharing = b_.lowering.fuse ? lowering::Sharing::steps : lowering::Sharing::none;
    for (const lowering::Group& group :
         lowering::group_nodes(g_, region_, k.types, sharing, b_.remarks.get()))
      add(group);
    for (const ValueId v : region.results) plan_.results.push_back(slot(v));
    plan_.slot_count = slots_.size();
    find_movable();
    release_after_last_use();
    name_dying_inputs();
    lay_out();
    return std::move(plan_);
  }

 private:
  /// The slot of a value. Each plan holds the constants that it reads, from any region.
  Slot slot(ValueId v) {
    if (v == ValueId::none) return -1;
    const auto [it, fresh] = slots_.try_emplace(v, static_cast<Slot>(slots_.size()));
    if (fresh)
      if (const Tensor* t = g_.constant(v)) plan_.constants.emplace_back(it->second, *t);
    return it->second;
  }
  std::vector<Slot> slots(std::span<const ValueId> values) {
    std::vector<Slot> all;
    for (const ValueId v : values) all.push_back(slot(v));
    return all;
  }

  void add(const lowering::Group& group) {
    const ir::Node& node = g_.node(group.nodes[0]);
    std::unique_ptr<runtime::Step> step;
    std::span<const ValueId> inputs = node.inputs, outputs = node.outputs;
    lowering::Group inner;
    const bool appends = continues_state(group);
    if (appends) {
      step = append_step(group);
    } else if (group.program) {
      step = program_step(b_, lowering::extract(g_, group), group);
      inputs = group.inputs;
      outputs = group.outputs;
    } else if (ops::meaning_as<ops::Control>(*node.op) != nullptr) {
      step = node.is_loop() ? loop(group.nodes[0]) : branch(group.nodes[0]);
    } else if (ops::meaning_as<ops::Composite>(*node.op) != nullptr) {
      inner = alone(g_, group.nodes[0]);
      step = late_expansion(b_, inner);
      inputs = inner.inputs;
    } else {
      step = kernel_step(b_, g_, group.nodes[0]);
    }
    step->source = ir::where(g_, group.nodes.back());
    step->inputs = slots(inputs);
    step->outputs = slots(outputs);
    if (b_.origins) note_origin(*step, group, inputs, outputs);
    makers_.push_back((group.program && !appends) ||
                      ops::meaning_as<ops::KernelMeaning>(*node.op) != nullptr);
    plan_.steps.push_back(std::move(step));
  }

  void note_origin(const runtime::Step& step, const lowering::Group& group,
                   std::span<const ValueId> inputs, std::span<const ValueId> outputs) const {
    StepOrigin origin{
        group.nodes, {inputs.begin(), inputs.end()}, {outputs.begin(), outputs.end()}, group};
    if (const ir::NodeId n = group.nodes[0]; !g_.node(n).regions.empty())
      origin.inputs = lowering::outer_values(g_, n);
    if (const auto* append = dynamic_cast<const runtime::AppendStep*>(&step))
      (*b_.origins)[append->join.get()] = {group.nodes, group.inputs, group.outputs, group};
    (*b_.origins)[&step] = std::move(origin);
  }

  /// Whether the group joins a state of the loop around it, or a part of the state, with what makes
  /// its next value.
  bool continues_state(const lowering::Group& group) const {
    const ir::Node& node = g_.node(group.nodes[0]);
    const NodeId loop = g_.region(region_).parent;
    if (group.nodes.size() > 1 || !ops::joined_axis(node) || loop == NodeId::none ||
        !g_.node(loop).is_loop())
      return false;
    ValueId from = node.inputs[0];
    for (NodeId n; (n = g_.value(from).producer) != NodeId::none;) {
      if (ops::meaning_as<ops::ViewMeaning>(*g_.node(n).op) == nullptr) return false;
      from = g_.node(n).inputs[0];
    }
    const ir::Region& body = g_.region(region_);
    const std::size_t states = g_.node(loop).loop().states;
    return std::ranges::count(std::span(body.params).subspan(2, states), from) > 0 &&
           std::ranges::count(std::span(body.results).subspan(1, states), node.outputs[0]) > 0;
  }

  std::unique_ptr<runtime::Step> append_step(const lowering::Group& group) {
    const ir::Node& node = g_.node(group.nodes[0]);
    auto step = std::make_unique<runtime::AppendStep>();
    step->axis = *ops::joined_axis(node);
    step->join = program_step(b_, lowering::extract(g_, group), group);
    step->join->source = ir::where(g_, group.nodes[0]);
    step->join->inputs = slots(group.inputs);
    step->join->outputs = slots(group.outputs);
    return step;
  }

  std::unique_ptr<runtime::Step> loop(NodeId n) {
    return loop_step(b_, n, [this](ValueId v) { return slot(v); });
  }

  std::unique_ptr<runtime::Step> branch(NodeId n) {
    auto step = std::make_unique<runtime::IfStep>();
    const auto outer = [this](ValueId v) { return slot(v); };
    step->then = build_plan(b_, g_.node(n).regions[0], outer);
    step->otherwise = build_plan(b_, g_.node(n).regions[1], outer);
    step->native = native_source(b_, n);
    const std::vector<ValueId> values = lowering::outer_values(g_, n);
    step->captures = slots(std::span(values).subspan(g_.node(n).inputs.size()));
    return step;
  }

  /// The slots that a step reads, including the captures of its regions.
  static std::vector<Slot> reads(const runtime::Step& step) {
    std::vector<Slot> all = step.inputs;
    const auto captured = [&](const Plan& p) {
      for (const auto& [outer, inner] : p.captures) all.push_back(outer);
    };
    if (const auto* loop = dynamic_cast<const runtime::LoopStep*>(&step)) captured(loop->body);
    if (const auto* branch = dynamic_cast<const runtime::IfStep*>(&step)) {
      captured(branch->then);
      captured(branch->otherwise);
    }
    return all;
  }

  void find_movable() {
    std::set<Slot> made;
    for (const auto& step : plan_.steps) made.insert(step->outputs.begin(), step->outputs.end());
    for (const Slot s : plan_.results)
      plan_.movable.push_back(made.contains(s) && std::ranges::count(plan_.results, s) == 1);
  }

  /// Whether captures must stay alive after the plan has run: the body of a loop runs several times
  /// with the same captures.
  bool captures_last() const {
    const NodeId parent = g_.region(region_).parent;
    return parent != NodeId::none && g_.node(parent).is_loop();
  }

  void release_after_last_use() {
    std::set<Slot> kept(plan_.results.begin(), plan_.results.end());
    for (const auto& [s, tensor] : plan_.constants) kept.insert(s);
    for (const auto& [outer, inner] : plan_.captures)
      if (captures_last()) kept.insert(inner);
    std::map<Slot, std::size_t> last;
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      for (const Slot s : plan_.steps[i]->outputs) last[s] = i;
      for (const Slot s : reads(*plan_.steps[i])) last[s] = i;
    }
    for (const auto& [s, i] : last)
      if (s >= 0 && !kept.contains(s)) plan_.steps[i]->release.push_back(s);
  }

  void name_dying_inputs() {
    if (region_ != ir::RegionId::root) return;
    for (const auto& step : plan_.steps) {
      auto* program = dynamic_cast<runtime::ProgramStep*>(step.get());
      if (program == nullptr) continue;
      const std::unordered_set<Slot> released(step->release.begin(), step->release.end());
      for (std::size_t k = 0; k < program->inputs.size(); ++k)
        if (released.contains(step->inputs[k])) program->dying.push_back(k);
    }
  }

  /// Finds the temporaries that can share one arena, with sizes that follow from the extents of the
  /// plan's parameters and captures. A value that may be aliased (a view, an item of a sequence, a
  /// value that enters or leaves a region) gets a block of its own.
  void lay_out() {
    std::map<Slot, std::size_t> born, dies;
    std::map<Slot, ValueId> values;
    std::set<Slot> holders;  // sequences and optionals
    for (const auto& [v, s] : slots_) {
      values[s] = v;
      if (!g_.value(v).type.is_tensor()) holders.insert(s);
    }
    std::set<Slot> shared(plan_.results.begin(), plan_.results.end());
    for (std::size_t i = 0; i < plan_.steps.size(); ++i) {
      const runtime::Step& step = *plan_.steps[i];
      const auto* program = dynamic_cast<const runtime::ProgramStep*>(&step);
      const bool only_reads = makers_[i] && (program == nullptr || !program->view);
      for (const Slot s : step.outputs) only_reads ? void(born[s] = i) : void(shared.insert(s));
      const bool shares = !only_reads || !plain_values(step, holders);
      for (const Slot s : reads(step)) {
        dies[s] = i;
        if (shares) shared.insert(s);
      }
    }
    find_symbols(values);
    for (const auto& [s, first] : born) {
      if (s < 0 || shared.contains(s)) continue;
      if (auto piece = sized(s, g_.value(values.at(s)).type)) {
        piece->first = first;
        piece->last = dies.contains(s) ? dies[s] : first;
        plan_.layout.pieces.push_back(std::move(*piece));
      }
    }
    std::ranges::stable_sort(plan_.layout.pieces, {}, &runtime::Layout::Piece::first);
  }

  /// Finds a slot and an axis of the parameters and captures for each symbol.
  void find_symbols(const std::map<Slot, ValueId>& values) {
    std::vector<Slot> given = plan_.params;
    for (const auto& [outer, inner] : plan_.captures) given.push_back(inner);
    for (const Slot s : given) {
      const ir::Type& type = g_.value(values.at(s)).type;
      if (!type.is_tensor() || !type.has_rank()) continue;
      for (std::int64_t a = 0; a < type.rank(); ++a)
        if (type.extent(a).symbolic())
          symbols_.try_emplace(type.extent(a).symbol,
                               runtime::Layout::Symbol{s, static_cast<std::size_t>(a)});
    }
  }

  /// The size of a temporary; nullopt if an extent is not known when the plan starts.
  std::optional<runtime::Layout::Piece> sized(Slot s, const ir::Type& type) {
    if (!type.is_tensor() || !type.has_rank() || type.dtype() == DType::string) return {};
    runtime::Layout::Piece piece{s, 0, 0, static_cast<std::int64_t>(byte_size(type.dtype())), {}};
    for (const ir::Extent& e : type.extents()) {
      if (e.known()) {
        if (__builtin_mul_overflow(piece.bytes, e.value, &piece.bytes)) return {};
      } else if (e.symbolic() && symbols_.contains(e.symbol)) {
        piece.symbols.push_back(number_of(e.symbol));
      } else {
        return {};
      }
    }
    return piece;
  }

  /// The number of a symbol among those that the layout reads.
  std::size_t number_of(ir::Symbol symbol) {
    const auto [it, fresh] = numbers_.try_emplace(symbol, plan_.layout.symbols.size());
    if (fresh) plan_.layout.symbols.push_back(symbols_.at(symbol));
    return it->second;
  }

  /// Whether all values of the step are tensors, so that no container can alias one of them.
  static bool plain_values(const runtime::Step& step, const std::set<Slot>& holders) {
    const auto holds = [&](Slot s) { return holders.contains(s); };
    return std::ranges::none_of(step.inputs, holds) && std::ranges::none_of(step.outputs, holds);
  }

  const BuildContext& b_;
  const ir::Graph& g_;
  const RegionId region_;
  Plan plan_;
  std::map<ValueId, Slot> slots_;
  std::vector<bool> makers_;  ///< by step: whether its outputs are new blocks
  std::map<ir::Symbol, runtime::Layout::Symbol> symbols_;
  std::map<ir::Symbol, std::size_t> numbers_;  ///< of the symbols that sizes need
};

}  // namespace

Plan build_plan(const BuildContext& b, RegionId r, const std::function<Slot(ValueId)>& outer) {
  return PlanBuilder(b, r).run(outer);
}

}  // namespace rondel::compile
