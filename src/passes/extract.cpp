#include "passes/extract.h"

#include <map>

namespace rondel::passes {
namespace {

using ir::Graph;
using ir::RegionId;
using ir::ValueId;

class Extraction {
 public:
  explicit Extraction(const Graph& from) : from_(from) {}

  Graph run(const Group& group) {
    to_.name = from_.name;
    for (const ValueId v : group.inputs)
      map_[v] = to_.add_param(RegionId::root, from_.value(v).type, from_.value(v).name);
    for (const ir::NodeId n : group.nodes) copy(n);
    for (const ValueId v : group.outputs) to_.root().results.push_back(map_.at(v));
    return std::move(to_);
  }

 private:
  void copy(ir::NodeId n) {
    const ir::Node& node = from_.node(n);
    std::vector<ValueId> inputs;
    for (const ValueId v : node.inputs) inputs.push_back(v == ValueId::none ? v : operand(v));
    std::vector<ir::Type> types;
    for (const ValueId v : node.outputs)
      types.push_back(v == ValueId::none ? ir::Type() : from_.value(v).type);
    const ir::NodeId made = to_.add_node(RegionId::root, *node.op, node.attributes,
                                         std::move(inputs), types);
    to_.node(made).source = node.source;
    for (std::size_t j = 0; j < node.outputs.size(); ++j) {
      const ValueId v = node.outputs[j];
      ValueId& copied = to_.node(made).outputs[j];
      if (v == ValueId::none) {
        copied = ValueId::none;
        continue;
      }
      to_.value(copied).name = from_.value(v).name;
      map_[v] = copied;
    }
  }

  /// What stands for `v`; a constant comes along.
  ValueId operand(ValueId v) {
    const auto it = map_.find(v);
    if (it != map_.end()) return it->second;
    copy(from_.value(v).producer);
    return map_.at(v);
  }

  const Graph& from_;
  Graph to_;
  std::map<ValueId, ValueId> map_;
};

}  // namespace

Graph extract(const Graph& g, const Group& group) { return Extraction(g).run(group); }

bool is_small_constant(const Graph& g, ValueId v) {
  const Tensor* t = g.constant(v);
  return t != nullptr && t->size() == 1 && t->dtype() != DType::string && !is_complex(t->dtype()) &&
         byte_size(t->dtype()) <= 8;
}

}  // namespace rondel::passes
