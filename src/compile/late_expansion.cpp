#include "compile/late_expansion.h"

#include "base/lru_cache.h"
#include "compile/plan_builder.h"
#include "compile/steps.h"
#include "ir/infer.h"
#include "lowering/extract.h"
#include "ops/meaning.h"

#include <algorithm>

namespace rondel::compile {
namespace {

/// The plans of one node by the ranks of its inputs, or by their shapes if its expansion needs more
/// than ranks. Thread-safe.
class LatePlans {
 public:
  LatePlans(BuildContext b, const lowering::Group& group)
      : node_(lowering::extract(*b.graph, group)), b_(std::move(b)) {
    b_.graph = nullptr;  // of the whole model
    b_.log = nullptr;
    for (const ir::NodeId n : node_.root().nodes)
      if (const auto* composite = ops::meaning_as<ops::Composite>(*node_.node(n).op))
        by_shape_ = composite->ready != nullptr;
    for (std::size_t p = 0; p < group.inputs.size(); ++p) all_.push_back(p);
  }

  std::shared_ptr<const runtime::Plan> get(std::span<const Value> inputs) {
    exact_type_environment(node_, inputs, all_);  // throws if the op refuses them
    CacheKey key;
    for (const Value& v : inputs) {
      key.push_back(v.is_tensor() ? v.tensor().rank() : -1);
      if (by_shape_ && v.is_tensor())
        key.insert(key.end(), v.tensor().shape().begin(), v.tensor().shape().end());
    }
    return plans_.get(key, [&] { return plan(inputs); });
  }

 private:
  runtime::Plan plan(std::span<const Value> inputs) const {
    ir::Graph g = node_;
    const std::vector<ir::ValueId> params = g.root().params;
    for (std::size_t p = 0; p < params.size(); ++p) {
      if (!inputs[p].is_tensor()) continue;
      const Tensor& x = inputs[p].tensor();
      ir::Type& t = g.value(params[p]).type;
      if (by_shape_) t = ir::Type::of(inputs[p]);
      else if (!t.has_rank()) t = ir::Type::ranked(x.dtype(), x.rank());
    }
    ir::infer_types(g);
    BuildContext b = b_;
    b.graph = std::make_shared<const ir::Graph>(compile_graph(std::move(g), b.rewriting));
    return build_plan(b, ir::RegionId::root);
  }

  ir::Graph node_;
  BuildContext b_;
  std::vector<std::size_t> all_;
  bool by_shape_ = false;
  LruCache<runtime::Plan> plans_;
};

}  // namespace

lowering::Group alone(const ir::Graph& g, ir::NodeId n) {
  lowering::Group group{.nodes = {n}};
  const ir::Node& node = g.node(n);
  for (const ir::ValueId v : node.inputs)
    if (v != ir::ValueId::none && g.constant(v) == nullptr &&
        std::ranges::count(group.inputs, v) == 0)
      group.inputs.push_back(v);
  for (const ir::ValueId v : node.outputs)
    if (v != ir::ValueId::none) group.outputs.push_back(v);
  return group;
}

std::unique_ptr<runtime::LatePlanStep> late_expansion(const BuildContext& b,
                                                      const lowering::Group& group) {
  auto step = std::make_unique<runtime::LatePlanStep>();
  step->plan = [plans = std::make_shared<LatePlans>(b, group)](std::span<const Value> inputs) {
    return plans->get(inputs);
  };
  return step;
}

}  // namespace rondel::compile
