#include "lowering/extract.h"

#include "base/error.h"
#include "ir/clone.h"

namespace rondel::lowering {
namespace {

using ir::Graph;
using ir::RegionId;
using ir::ValueId;

/// Copies a group and the constants that it reads; it reads nothing else except its inputs.
class Extractor {
 public:
  explicit Extractor(const Graph& from)
      : from_(from), copies_(from, to_, [this](ValueId v) { return constant(v); }) {}

  Graph run(const Group& group) {
    to_.name = from_.name;
    for (const ValueId v : group.inputs)
      copies_.map(v, to_.add_param(RegionId::root, from_.value(v).type, from_.value(v).name));
    for (const ir::NodeId n : group.nodes) copies_.node(n, RegionId::root);
    for (const ValueId v : group.outputs) to_.add_result(RegionId::root, copies_(v));
    return std::move(to_);
  }

 private:
  ValueId constant(ValueId v) {
    const Tensor* t = from_.constant(v);
    invariant(t != nullptr, "'{}' is neither an input of a group nor a constant",
              from_.value(v).name);
    const ir::NodeId made = copies_.node(from_.value(v).producer, RegionId::root);
    return to_.node(made).outputs[0];
  }

  const Graph& from_;
  Graph to_;
  ir::Cloner copies_;
};

}  // namespace

Graph extract(const Graph& g, const Group& group) { return Extractor(g).run(group); }

bool is_small_constant(const Graph& g, ValueId v) {
  const Tensor* t = g.constant(v);
  return t != nullptr && t->size() == 1 && t->dtype() != DType::string && !is_complex(t->dtype()) &&
         byte_size(t->dtype()) <= 8;
}

}  // namespace rondel::lowering
