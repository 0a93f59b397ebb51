#include "compile/steps.h"

#include "base/error.h"
#include "base/lru_cache.h"
#include "compile/exact_key.h"
#include "lowering/class_extents.h"
#include "lowering/extract.h"
#include "lowering/lower.h"
#include "ops/meaning.h"
#include "passes/loop_body.h"

#include <algorithm>
#include <atomic>

namespace rondel::compile {
namespace {

using ir::NodeId;
using ir::ValueId;

std::pair<DType, Shape> exact(const ir::Graph& g, ValueId v, const ir::TypeEnvironment& k) {
  const ir::Type& t = k.types[ir::index(v)];
  if (!t.is_static())
    broken_invariant("the type {} of '{}' is not exact when it runs", to_text(t), g.value(v).name);
  return {t.dtype(), t.static_shape()};
}

/// The values as tensors; null for a value that is no tensor.
std::vector<const Tensor*> tensors_of(std::span<const Value> values) {
  std::vector<const Tensor*> tensors;
  for (const Value& v : values) tensors.push_back(std::get_if<Tensor>(&v));
  return tensors;
}

/// The types of a group's results for a class of its inputs.
class TypesOfGroup : public runtime::ClassTypes {
 public:
  explicit TypesOfGroup(lowering::ClassExtents extents) : extents_(std::move(extents)) {}
  bool evaluate(std::span<const Tensor* const> inputs, runtime::OutputTypes& types) const override {
    return extents_.evaluate(inputs, types);
  }

 private:
  lowering::ClassExtents extents_;
};

/// The data of a program step: its group as a graph, output types by the inputs' extents, and code
/// by shape class.
struct GroupCode {
  ir::Graph graph;
  bool by_rows = false;
  std::vector<ir::Type> declared;
  std::vector<std::size_t> value_inputs, program_values;
  /// Partition of `value_inputs` for type inference: lists whose elements may be symbols of the
  /// class, and inputs whose values must be part of the class.
  std::vector<lowering::ExtentList> lists;
  std::vector<std::size_t> type_values;
  std::shared_ptr<ProgramCompiler> compiler;
  static constexpr std::size_t most_own = 8;  ///< shapes with code of their own

  /// The output types: computed from the extents if the class has expressions for them, or else
  /// inferred for these inputs.
  runtime::OutputTypes types(std::span<const Value> inputs) {
    std::optional<runtime::OutputTypes> inferred;
    const auto of_class = class_of(inputs, [&] { inferred = infer(inputs); });
    if (inferred) return *std::move(inferred);
    runtime::OutputTypes computed;
    if (of_class && of_class->evaluate(tensors_of(inputs), computed)) return computed;
    return *types_.get(exact_key(inputs, value_inputs), [&] { return infer(inputs); });
  }

  /// The types for the class of these inputs; null if types or code depend on the exact inputs.
  /// `check` is called for the first inputs of a class; it throws for invalid inputs.
  template <class Check>
  std::shared_ptr<const TypesOfGroup> class_of(std::span<const Value> inputs, const Check& check) {
    const lowering::ShapeClass c = lowering::classify(inputs, declared, type_values, lists);
    return *classes_.get(c.key, [&]() -> std::shared_ptr<const TypesOfGroup> {
      check();
      if (!lowering::can_lower(graph, by_rows, c)) return nullptr;
      auto extents = lowering::output_extents(graph, c);
      return extents ? std::make_shared<TypesOfGroup>(*std::move(extents)) : nullptr;
    });
  }

  std::shared_ptr<const scalar::Executable> executable(std::span<const Value> inputs,
                                                       std::span<const std::size_t> dying) {
    using Executable = std::shared_ptr<const scalar::Executable>;
    const lowering::ShapeClass c = lowering::classify(inputs, declared, program_values);
    const Executable of_class = *by_class_.get(
        c.key, [&] { return lowering::can_lower(graph, by_rows, c) ? make(c, dying) : nullptr; });
    if (of_class) return of_class;
    // A rank may depend on extents (Squeeze without axes) or on a value (ConstantOfShape of a shape
    // of unknown length). The code is made for exact shapes then.
    const lowering::ShapeClass shapes = lowering::classify(inputs, exactly(inputs), value_inputs);
    return *by_shapes_.get(shapes.key, [&] { return make(shapes, dying); });
  }

  /// Code for these very shapes, in which all extents are numbers. Null until it is ready, and if
  /// the class knows as much.
  std::shared_ptr<const scalar::Executable> own(std::span<const Value> inputs,
                                                std::span<const std::size_t> dying) {
    const lowering::ShapeClass c = lowering::classify(inputs, declared, program_values);
    if (std::ranges::all_of(c.types, &ir::Type::is_static)) return nullptr;
    const lowering::ShapeClass shapes = lowering::classify(inputs, exactly(inputs), value_inputs);
    const auto made = own_.get(shapes.key, [&] {
      return compiler->make_ahead(lowering::lower_group(graph, by_rows, shapes, dying));
    });
    return made->ready() ? made->code : nullptr;
  }

 private:
  std::shared_ptr<const scalar::Executable> make(const lowering::ShapeClass& c,
                                                 std::span<const std::size_t> dying) const {
    return compiler->make(lowering::lower_group(graph, by_rows, c, dying));
  }

  runtime::OutputTypes infer(std::span<const Value> inputs) const {
    const ir::TypeEnvironment types = exact_type_environment(graph, inputs, value_inputs);
    runtime::OutputTypes outputs;
    for (const ValueId v : graph.root().results) outputs.push_back(exact(graph, v, types));
    return outputs;
  }

  static std::vector<ir::Type> exactly(std::span<const Value> inputs) {
    std::vector<ir::Type> types;
    for (const Value& v : inputs) types.push_back(ir::Type::of(v));
    return types;
  }

  LruCache<std::shared_ptr<const TypesOfGroup>> classes_;
  LruCache<runtime::OutputTypes> types_;  ///< by exact extents, if the class has no expressions
  LruCache<std::shared_ptr<const scalar::Executable>> by_class_, by_shapes_;
  LruCache<ProgramCompiler::Ahead> own_{most_own};
};

/// The longest list of extents that is part of a group's class.
constexpr std::int64_t longest_list = 8;

/// Finds the short lists of integers that only types depend on: their values need not be part of
/// the class. A view has no program that depends on a value.
void set_lists(GroupCode& group, bool is_view) {
  const auto program_values = [&](std::size_t k) {
    return std::ranges::count(group.program_values, k) > 0;
  };
  for (const std::size_t k : group.value_inputs)
    if (lowering::is_short_list(group.declared[k], longest_list) && (is_view || !program_values(k)))
      group.lists.push_back({k, {}});
    else if (program_values(k)) group.type_values.push_back(k);
}

void set_view(runtime::ProgramStep& step, const ir::Graph& g) {
  if (g.root().nodes.empty()) return;
  const ir::Node& node = g.node(g.root().nodes.back());
  const auto* meaning = ops::meaning_as<ops::ViewMeaning>(*node.op);
  if (meaning == nullptr) return;
  // The node's operands in order: parameters of the group, or constants of its graph.
  std::vector<std::pair<std::ptrdiff_t, Value>> operands;
  for (const ValueId v : node.inputs) {
    const auto& params = g.root().params;
    const auto at = std::find(params.begin(), params.end(), v);
    if (v == ValueId::none) operands.emplace_back(-1, Value());
    else if (at != params.end()) operands.emplace_back(at - params.begin(), Value());
    else operands.emplace_back(-1, *g.constant(v));
  }
  step.viewed = operands[0].first;
  // Programs copy text, because it is counted.
  step.keeps_order = meaning->keeps_order && step.viewed >= 0 &&
                     g.value(node.outputs[0]).type.dtype() != DType::string;
  step.view = [operands, meaning, attributes = node.attributes](
                  std::span<const Value> inputs, std::span<const std::pair<DType, Shape>> outputs) {
    std::vector<Value> values;
    for (const auto& [at, constant] : operands)
      values.push_back(at < 0 ? constant : inputs[static_cast<std::size_t>(at)]);
    std::vector<Shape> shapes;
    for (const auto& [dtype, shape] : outputs) shapes.push_back(shape);
    return meaning->view(attributes, values, shapes);
  };
}

/// The declared types of a node's inputs.
std::vector<ir::Type> input_types(const ir::Graph& g, const ir::Node& node) {
  std::vector<ir::Type> types;
  for (const ValueId v : node.inputs)
    types.push_back(v == ValueId::none ? ir::Type() : g.value(v).type);
  return types;
}

/// The types of a kernel node's outputs for a class of its inputs.
class TypesOfKernel : public runtime::ClassTypes {
 public:
  /// `extents`: of a graph of the node. `position`: the node's input for each parameter of that
  /// graph. `has_output`: whether each output of the node is a result of that graph.
  TypesOfKernel(lowering::ClassExtents extents, std::vector<std::size_t> position,
                std::vector<bool> has_output)
      : extents_(std::move(extents)), position_(std::move(position)),
        has_output_(std::move(has_output)) {}

  bool evaluate(std::span<const Tensor* const> inputs, runtime::OutputTypes& types) const override {
    std::vector<const Tensor*> params;
    for (const std::size_t k : position_) params.push_back(inputs[k]);
    if (!extents_.evaluate(params, types)) return false;
    for (std::size_t j = 0; j < has_output_.size(); ++j)
      if (!has_output_[j])
        types.insert(types.begin() + static_cast<std::ptrdiff_t>(j), {DType::f32, Shape{}});
    return true;
  }

 private:
  lowering::ClassExtents extents_;
  std::vector<std::size_t> position_;
  std::vector<bool> has_output_;
};

/// A graph of a single kernel node, which infers output types and checks inputs at run time.
struct KernelNode {
  KernelNode(const ir::Graph& g, NodeId n) : source(g.node(n)) {
    lowering::Group group{.nodes = {n}};
    for (const ValueId v : source.inputs)
      if (v != ValueId::none &&
          std::find(group.inputs.begin(), group.inputs.end(), v) == group.inputs.end())
        group.inputs.push_back(v);
    for (const ValueId v : source.outputs)
      if (v != ValueId::none) group.outputs.push_back(v);
    alone = lowering::extract(g, group);
    for (std::size_t p = 0; p < group.inputs.size(); ++p) {
      declared.push_back(g.value(group.inputs[p]).type);
      const auto at = std::find(source.inputs.begin(), source.inputs.end(), group.inputs[p]);
      position.push_back(static_cast<std::size_t>(at - source.inputs.begin()));
      if (std::ranges::any_of(source.op->value_inputs, [&](std::size_t k) {
            return k < source.inputs.size() && source.inputs[k] == group.inputs[p];
          }))
        value_inputs.push_back(p);
    }
    for (const std::size_t p : value_inputs)
      if (lowering::is_short_list(g.value(group.inputs[p]).type, longest_list))
        lists.push_back({p, {}});
      else other_values.push_back(p);
  }

  /// The types of the outputs; nullopt for types that are not known and for outputs that are left
  /// out.
  runtime::UnsizedKernelStep::Types types(std::span<const Value> inputs) const {
    std::vector<Value> params;
    for (const std::size_t k : position) params.push_back(inputs[k]);
    const ir::TypeEnvironment k = exact_type_environment(alone, params, value_inputs);
    runtime::UnsizedKernelStep::Types types(source.outputs.size());
    std::size_t next = 0;
    for (std::size_t j = 0; j < source.outputs.size(); ++j) {
      if (source.outputs[j] == ValueId::none) continue;
      const ir::Type& t = k.types[ir::index(alone.root().results[next++])];
      if (t.is_static()) types[j] = {t.dtype(), t.static_shape()};
    }
    return types;
  }

  /// The types for the class of these inputs, which `types` has accepted; null if types depend on
  /// the exact inputs. Tries a class without the values of lists first, then one with all values.
  std::shared_ptr<const runtime::ClassTypes> class_of(std::span<const Value> inputs) const {
    std::vector<Value> params;
    for (const std::size_t k : position) params.push_back(inputs[k]);
    if (auto found = by_extents.get(*this, params, other_values, lists)) return found;
    return lists.empty() ? nullptr : by_values.get(*this, params, value_inputs, {});
  }

  ir::Node source;
  ir::Graph alone;
  /// For each parameter of `alone`, the number of the node's input; and the parameters whose values
  /// types depend on.
  std::vector<std::size_t> position, value_inputs;
  std::vector<ir::Type> declared;  ///< types of the parameters

 private:
  class Classes {
   public:
    /// If one class has no expressions for the types, no other class is tried: that would cost more
    /// than type inference for each new shape.
    std::shared_ptr<const runtime::ClassTypes> get(const KernelNode& node,
                                                   std::span<const Value> params,
                                                   std::span<const std::size_t> values,
                                                   std::span<const lowering::ExtentList> lists) {
      if (are_none_.load(std::memory_order_relaxed)) return nullptr;
      const lowering::ShapeClass c = lowering::classify(params, node.declared, values, lists);
      return *known_.get(c.key, [&]() -> std::shared_ptr<const runtime::ClassTypes> {
        auto extents = lowering::output_extents(node.alone, c);
        if (!extents) are_none_.store(true, std::memory_order_relaxed);
        if (!extents) return nullptr;
        std::vector<bool> has_output;
        for (const ValueId v : node.source.outputs) has_output.push_back(v != ValueId::none);
        return std::make_shared<TypesOfKernel>(*std::move(extents), node.position,
                                               std::move(has_output));
      });
    }

   private:
    LruCache<std::shared_ptr<const runtime::ClassTypes>> known_;
    std::atomic<bool> are_none_{false};
  };
  /// Partition of `value_inputs`: short lists of integers, and others.
  std::vector<lowering::ExtentList> lists;
  std::vector<std::size_t> other_values;
  mutable Classes by_extents, by_values;
};

/// The kernel of one node, prepared for the ranks of its inputs; prepared again when the ranks
/// change. Thread-safe.
class KernelsByRank {
 public:
  KernelsByRank(std::shared_ptr<const KernelNode> node, const ops::SizedKernelMeaning& meaning,
                bool fastest)
      : node_(std::move(node)), meaning_(meaning), fastest_(fastest) {}

  ops::SizedKernelMeaning::Kernel get(std::span<const Value> inputs) {
    std::vector<ir::Type> types;
    std::vector<std::int64_t> ranks;
    for (const Value& v : inputs) {
      types.push_back(v.defined() ? ir::Type::of(v) : ir::Type());
      ranks.push_back(v.defined() ? v.tensor().rank() : -1);
    }
    const std::lock_guard lock(mutex_);
    if (kernel_ && ranks == ranks_) return kernel_;
    kernel_ = meaning_.prepare(node_->source, types, fastest_);
    ranks_ = std::move(ranks);
    return kernel_;
  }

 private:
  const std::shared_ptr<const KernelNode> node_;
  const ops::SizedKernelMeaning& meaning_;
  const bool fastest_;
  std::mutex mutex_;
  std::vector<std::int64_t> ranks_;
  ops::SizedKernelMeaning::Kernel kernel_;
};

std::unique_ptr<runtime::Step> sized_kernel_step(const BuildContext& b,
                                                 std::shared_ptr<const KernelNode> node,
                                                 const ops::SizedKernelMeaning& meaning) {
  auto step = std::make_unique<runtime::KernelStep>();
  step->value_inputs = node->source.op->value_inputs;
  auto kernels = std::make_shared<KernelsByRank>(node, meaning, b.lowering.fast_kernels);
  step->prepare = [node, kernels](std::span<const Value> inputs) {
    runtime::KernelStep::Prepared prepared;
    for (auto& type : node->types(inputs)) {
      invariant(type.has_value() || node->source.outputs[prepared.types.size()] == ValueId::none,
                "the types of '{}' are not exact when it runs", node->source.op->name);
      prepared.types.push_back(std::move(type).value_or(std::pair<DType, Shape>{}));
    }
    prepared.kernel = kernels->get(inputs);
    prepared.of_class = node->class_of(inputs);
    return prepared;
  };
  return step;
}

std::unique_ptr<runtime::Step> unsized_kernel_step(const BuildContext& b, const ir::Graph& g,
                                                   std::shared_ptr<const KernelNode> node,
                                                   const ops::UnsizedKernelMeaning& meaning) {
  auto step = std::make_unique<runtime::UnsizedKernelStep>();
  step->value_inputs = node->source.op->value_inputs;
  const std::vector<ir::Type> types = input_types(g, node->source);
  if (b.lowering.fast_kernels && meaning.fast) step->kernel = meaning.fast(node->source, types);
  if (!step->kernel) step->kernel = meaning.reference(node->source, types);
  step->check = [node](std::span<const Value> inputs) { return node->types(inputs); };
  return step;
}

}  // namespace

ir::TypeEnvironment exact_type_environment(const ir::Graph& g, std::span<const Value> inputs,
                                           std::span<const std::size_t> value_inputs) {
  ir::TypeEnvironment k = ir::type_environment(g);
  const auto& params = g.root().params;
  for (std::size_t i = 0; i < params.size(); ++i)
    // Optionals keep their declared types, because an empty optional does not have an element type.
    // Sequences do, too, because checking every item would take long.
    if (inputs[i].is_tensor()) k.types[ir::index(params[i])] = ir::Type::of(inputs[i]);
  for (const std::size_t i : value_inputs)
    if (inputs[i].is_tensor()) k.values[static_cast<std::int32_t>(params[i])] = inputs[i].tensor();
  ir::infer_region(g, ir::RegionId::root, k);
  return k;
}

std::unique_ptr<runtime::ProgramStep> program_step(const BuildContext& b, ir::Graph graph,
                                                   const lowering::Group& group) {
  auto kept = std::make_shared<GroupCode>();
  for (const ValueId v : graph.root().params) kept->declared.push_back(graph.value(v).type);
  kept->graph = std::move(graph);
  kept->by_rows = group.by_rows;
  kept->value_inputs = group.value_inputs;
  kept->program_values = group.program_values;
  kept->compiler = b.compiler;
  auto step = std::make_unique<runtime::ProgramStep>();
  step->value_inputs = group.value_inputs;
  set_view(*step, kept->graph);
  set_lists(*kept, static_cast<bool>(step->view));
  step->checks_always = std::ranges::any_of(group.nodes, [&](ir::NodeId n) {
    const ir::OpDef& op = *b.graph->node(n).op;
    if (const auto* each = ops::meaning_as<ops::Elements>(op)) return each->before != nullptr;
    return ops::meaning_as<ops::LoopNest>(op) != nullptr && ir::can_fail(*b.graph, n);
  });
  step->can_fail = !std::ranges::all_of(
      group.nodes, [&](ir::NodeId n) { return passes::cannot_fail(*b.graph, n); });
  step->types = [kept](std::span<const Value> inputs) { return kept->types(inputs); };
  step->code = [kept](std::span<const Value> inputs, std::span<const std::size_t> dying) {
    return kept->executable(inputs, dying);
  };
  step->class_of = [kept](std::span<const Value> inputs) { return kept->class_of(inputs, [] {}); };
  // Elements that are computed one by one gain nothing, and declared shapes are the class's.
  const bool gains = !all_shapes_declared(kept->declared) &&
                     std::ranges::any_of(group.nodes, [&](ir::NodeId n) {
                       return !ops::is_elementwise(*b.graph->node(n).op);
                     });
  if (gains && b.compiler->makes_ahead()) {
    step->own_code = [kept](std::span<const Value> inputs, std::span<const std::size_t> dying) {
      return kept->own(inputs, dying);
    };
    step->when = when_to_ask(*b.compiler);
  }
  return step;
}

std::unique_ptr<runtime::Step> kernel_step(const BuildContext& b, const ir::Graph& g,
                                           ir::NodeId n) {
  const ir::OpDef& op = *g.node(n).op;
  const auto* sized = ops::meaning_as<ops::SizedKernelMeaning>(op);
  const auto* unsized = ops::meaning_as<ops::UnsizedKernelMeaning>(op);
  if (sized == nullptr && unsized == nullptr)
    throw_error_at(Blame::unsupported, ir::where(g, n),
                   fmt::format("there is no way to run op '{}'", op.name));
  auto node = std::make_shared<const KernelNode>(g, n);
  return sized ? sized_kernel_step(b, std::move(node), *sized)
               : unsized_kernel_step(b, g, std::move(node), *unsized);
}

}  // namespace rondel::compile
