#include "passes/key_random_ops.h"

#include "ir/builder.h"
#include "ir/user_op.h"

#include <algorithm>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

class Keys {
 public:
  explicit Keys(Graph& g) : g_(g), seed_(g.input(ir::InputRole::seed)) {
    for (std::size_t i = 0; i < g.node_count(); ++i) count(g.node(static_cast<NodeId>(i)));
  }

  bool visit(RegionId r, const std::vector<ValueId>& trips) {
    bool changed = false;
    for (const NodeId n : std::vector<NodeId>(g_.region(r).nodes)) {
      if (draws(g_.node(n)) && g_.node(n).inputs.empty()) {
        give(n, trips);
        changed = true;
      }
      const bool loop = g_.node(n).is_loop();
      for (const RegionId inner : std::vector<RegionId>(g_.node(n).regions)) {
        std::vector<ValueId> within = trips;
        if (loop) within.push_back(g_.region(inner).params[0]);
        changed |= visit(inner, within);
      }
    }
    return changed;
  }

 private:
  /// An op of the user that is not pure counts as random, but draws no numbers of ours.
  static bool draws(const ir::Node& node) {
    return node.op->random && ir::user_op(*node.op) == nullptr;
  }

  /// New numbers follow those that random nodes have already.
  void count(const ir::Node& node) {
    if (!draws(node) || node.inputs.size() < 2) return;
    if (const Tensor* number = g_.constant(node.inputs[1]))
      number_ = std::max(number_, *number->data_as<std::int64_t>() + 1);
  }

  void give(NodeId n, const std::vector<ValueId>& trips) {
    if (seed_ == ValueId::none) {
      seed_ = g_.add_param(RegionId::root, ir::Type::scalar(DType::u64), "seed");
      g_.roles.emplace(seed_, ir::InputRole::seed);
      if (!g_.input_names.empty()) g_.input_names.emplace_back("seed");
    }
    ir::Builder b(g_, RegionId::root);
    b.insert_first();
    std::vector<ValueId> parts{seed_, b.scalar(number_++)};
    parts.insert(parts.end(), trips.begin(), trips.end());
    g_.set_inputs(n, std::move(parts));
  }

  Graph& g_;
  ValueId seed_;
  std::int64_t number_ = 0;
};

}  // namespace

bool key_random_ops(Graph& g) { return Keys(g).visit(RegionId::root, {}); }

}  // namespace rondel::passes
