#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_shape(Lowering& l) { return {l.b("shape", {l.in(0)})}; }

const KindEntry shape_layer{{LayerType::kSHAPE, "Shape", 1, lower_shape}};

}  // namespace

IShapeLayer* INetworkDefinition::addShape(ITensor& input) {
  return add_layer<IShapeLayer>(*data_, LayerType::kSHAPE, {&input.data()}, {});
}

}  // namespace rondel::network
