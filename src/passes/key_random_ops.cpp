#include "passes/key_random_ops.h"

#include "ir/builder.h"

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::NodeId;
using ir::RegionId;
using ir::ValueId;

class Keys {
 public:
  explicit Keys(Graph& g) : g_(g) {}

  bool visit(RegionId r, const std::vector<ValueId>& trips) {
    bool changed = false;
    for (const NodeId n : std::vector<NodeId>(g_.region(r).nodes)) {
      if (g_.node(n).op->random && g_.node(n).inputs.empty()) {
        give(n, trips);
        changed = true;
      }
      const bool loop = g_.node(n).op->name == "loop";
      for (const RegionId inner : std::vector<RegionId>(g_.node(n).regions)) {
        std::vector<ValueId> within = trips;
        if (loop) within.push_back(g_.region(inner).params[0]);
        changed |= visit(inner, within);
      }
    }
    return changed;
  }

 private:
  void give(NodeId n, const std::vector<ValueId>& trips) {
    if (seed_ == ValueId::none) {
      seed_ = g_.add_param(RegionId::root, ir::Type::scalar(DType::u64), "seed");
      if (!g_.input_names.empty()) g_.input_names.emplace_back("seed");
    }
    ir::Builder b(g_, RegionId::root);
    b.insert_at(0);
    std::vector<ValueId> parts{seed_, b.scalar(number_++)};
    parts.insert(parts.end(), trips.begin(), trips.end());
    g_.node(n).inputs = std::move(parts);
  }

  Graph& g_;
  ValueId seed_ = ValueId::none;
  std::int64_t number_ = 0;
};

}  // namespace

bool key_random_ops(Graph& g) { return Keys(g).visit(RegionId::root, {}); }

}  // namespace rondel::passes
