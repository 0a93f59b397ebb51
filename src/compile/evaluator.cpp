#include "base/arithmetic.h"
#include "base/error.h"
#include "base/lru_cache.h"
#include "compile/exact_key.h"
#include "compile/plan_builder.h"
#include "ir/value_text.h"
#include "lowering/empty_stacks.h"
#include "lowering/extract.h"

#include <algorithm>
#include <limits>

namespace rondel::compile {
namespace {

using ir::Graph;
using ir::Node;
using ir::ValueId;

/// Caches plans by op, attributes and types, because models repeat their shape arithmetic.
/// Thread-safe.
class NodeEvaluator {
 public:
  std::vector<Value> operator()(const Graph& g, ir::NodeId n,
                                std::span<const Tensor* const> inputs) {
    const Node& node = g.node(n);
    lowering::Group group{.nodes = {n}};
    std::vector<Value> values;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const ValueId v = node.inputs[k];
      if (v == ValueId::none || held(g, node, v) || is_among(group.inputs, v)) continue;
      group.inputs.push_back(v);
      values.emplace_back(*inputs[k]);
    }
    for (const ValueId v : node.outputs)
      if (v != ValueId::none) group.outputs.push_back(v);
    if (!ir::text_identifies(node.attributes)) return run(plan(g, group), node, values);
    try {
      return run(*plans_.get(key(g, node, inputs), [&] { return plan(g, group); }), node, values);
    } catch (const Error&) {
      return run(plan(g, group), node, values);  // so that the error names this node
    }
  }

 private:
  static bool is_among(std::span<const ValueId> values, ValueId v) {
    return std::find(values.begin(), values.end(), v) != values.end();
  }

  /// Whether `v` is a constant that is part of the plan, because types depend on its value.
  static bool held(const Graph& g, const Node& node, ValueId v) {
    return g.constant(v) != nullptr &&
           std::ranges::any_of(node.op->value_inputs, [&](std::size_t k) {
             return k < node.inputs.size() && node.inputs[k] == v;
           });
  }

  /// The cache key of a plan.
  static CacheKey key(const Graph& g, const Node& node, std::span<const Tensor* const> inputs) {
    CacheKey key{reinterpret_cast<std::intptr_t>(node.op)};
    for (const ValueId v : node.outputs) key.push_back(v == ValueId::none ? 0 : 1);
    std::vector<Value> values;
    for (std::size_t k = 0; k < node.inputs.size(); ++k) {
      const auto first = std::find(node.inputs.begin(), node.inputs.end(), node.inputs[k]);
      key.push_back(first - node.inputs.begin());
      const bool there = node.inputs[k] != ValueId::none;
      key.push_back(there && held(g, node, node.inputs[k]) ? 1 : 0);
      key.push_back(there ? static_cast<std::int64_t>(inputs[k]->dtype()) : -1);
      if (there) values.emplace_back(*inputs[k]);
      else values.emplace_back();
    }
    for (const auto& [name, value] : node.attributes) {
      add_text(key, name);
      add_text(key, ir::to_text(value));
    }
    const CacheKey extents = exact_key(values, node.op->value_inputs);
    key.insert(key.end(), extents.begin(), extents.end());
    return key;
  }

  static runtime::Plan plan(const Graph& g, const lowering::Group& group) {
    Graph alone = lowering::extract(g, group);
    lowering::complete_declared_items(alone);
    BuildContext b;
    b.graph = std::make_shared<const Graph>(std::move(alone));
    b.compiler = interpreter_alone();
    b.lowering.fast_kernels = false;
    return build_plan(b, ir::RegionId::root);
  }

  static std::vector<Value> run(const runtime::Plan& plan, const Node& node,
                                std::vector<Value> values) {
    runtime::Memory memory(std::numeric_limits<std::size_t>::max());
    runtime::Run run{memory, std::numeric_limits<std::int64_t>::max()};
    runtime::FrameLease frame(plan, run);
    for (std::size_t k = 0; k < values.size(); ++k)
      frame->set(plan.params[k], std::move(values[k]));
    frame->execute();
    std::vector<Value> results;
    std::size_t next = 0;
    for (const ValueId v : node.outputs) {
      results.emplace_back();
      if (v != ValueId::none) results.back() = (*frame)[plan.results[next++]];
    }
    return results;
  }

  LruCache<runtime::Plan> plans_;
};

}  // namespace

ir::Evaluator make_evaluator() {
  return [nodes = std::make_shared<NodeEvaluator>()](const Graph& g, ir::NodeId n,
                                                     std::span<const Tensor* const> inputs) {
    const ArithmeticScope arithmetic(Arithmetic::standard());
    return (*nodes)(g, n, inputs);
  };
}

}  // namespace rondel::compile
