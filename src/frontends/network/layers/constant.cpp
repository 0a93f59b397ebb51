#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_constant(Lowering& l) {
  const Tensor& values = l.parameters().tensor("weights");
  const ir::Ints shape = l.parameters().ints("dimensions");
  require(element_count(shape) == values.size(),
          "a constant of {} takes {} elements; its weights have {}", to_text(values.dtype(), shape),
          element_count(shape), values.size());
  return {l.b.constant(values.reshaped(shape))};
}

const KindEntry constant_layer{{LayerType::kCONSTANT, "Constant", 0, lower_constant}};

}  // namespace

IConstantLayer* INetworkDefinition::addConstant(const Dims& dimensions, Weights weights) {
  const ir::Ints shape = ints_of(dimensions);
  return add_layer<IConstantLayer>(*data_, LayerType::kCONSTANT, {},
                                   {{"weights", tensor_of(weights, shape)}, {"dimensions", shape}});
}

void IConstantLayer::setWeights(Weights w) { set_parameter(*this, "weights", tensor_of(w)); }
Weights IConstantLayer::getWeights() const { return weights(*this, "weights"); }
void IConstantLayer::setDimensions(const Dims& d) { set_dims(*this, "dimensions", d); }
Dims IConstantLayer::getDimensions() const { return dims(*this, "dimensions"); }

}  // namespace rondel::network
