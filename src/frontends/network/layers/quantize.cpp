#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kQUANTIZE, "Quantize", 3, nullptr}};

}  // namespace

IQuantizeLayer* INetworkDefinition::addQuantize(ITensor& input, ITensor& scale,
                                                DataType outputType) {
  return add_layer<IQuantizeLayer>(*data_, LayerType::kQUANTIZE, {&input.data(), &scale.data()},
                                   {{"to", static_cast<std::int64_t>(outputType)}});
}

void IQuantizeLayer::setAxis(std::int32_t axis) { set_choice(*this, "axis", axis); }
std::int32_t IQuantizeLayer::getAxis() const {
  return static_cast<std::int32_t>(data().parameters.i("axis", -1));
}
void IQuantizeLayer::setToType(DataType v) { set_choice(*this, "to", v); }
DataType IQuantizeLayer::getToType() const { return choice<DataType>(*this, "to"); }

}  // namespace rondel::network
