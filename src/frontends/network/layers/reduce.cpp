#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const char* op_of(ReduceOperation op) {
  switch (op) {
    case ReduceOperation::kSUM: return "reduce_sum";
    case ReduceOperation::kPROD: return "reduce_prod";
    case ReduceOperation::kMAX: return "reduce_max";
    case ReduceOperation::kMIN: return "reduce_min";
    case ReduceOperation::kAVG: return "reduce_mean";
  }
  fail("there is no reduction {}", static_cast<int>(op));
}

std::vector<ValueId> lower_reduce(Lowering& l) {
  const ir::Ints axes = l.axes_of_mask("axes", l.rank(l.in(0)));
  require(!axes.empty(), "no axis is reduced; set a bit of the mask for each axis that is");
  return {l.b(op_of(l.choice<ReduceOperation>("operation")), {l.in(0), l.b.integers(axes)},
              {{"keepdims", l.parameters().i("keep")}})};
}

const KindEntry reduce_layer{{LayerType::kREDUCE, "Reduce", 1, lower_reduce}};

}  // namespace

IReduceLayer* INetworkDefinition::addReduce(ITensor& input, ReduceOperation op, std::uint32_t axes,
                                            bool keepDimensions) {
  return add_layer<IReduceLayer>(*data_, LayerType::kREDUCE, {&input.data()},
                                 {{"operation", static_cast<std::int64_t>(op)},
                                  {"axes", std::int64_t{axes}},
                                  {"keep", std::int64_t{keepDimensions}}});
}

void IReduceLayer::setOperation(ReduceOperation v) { set_choice(*this, "operation", v); }
ReduceOperation IReduceLayer::getOperation() const {
  return choice<ReduceOperation>(*this, "operation");
}
void IReduceLayer::setReduceAxes(std::uint32_t v) { set_choice(*this, "axes", v); }
std::uint32_t IReduceLayer::getReduceAxes() const { return choice<std::uint32_t>(*this, "axes"); }
void IReduceLayer::setKeepDimensions(bool v) { set_choice(*this, "keep", v); }
bool IReduceLayer::getKeepDimensions() const { return choice<bool>(*this, "keep"); }

}  // namespace rondel::network
