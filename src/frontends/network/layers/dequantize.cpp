#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kDEQUANTIZE, "Dequantize", 3, nullptr}};

}  // namespace

IDequantizeLayer* INetworkDefinition::addDequantize(ITensor& input, ITensor& scale,
                                                    DataType outputType) {
  return add_layer<IDequantizeLayer>(*data_, LayerType::kDEQUANTIZE, {&input.data(), &scale.data()},
                                     {{"to", static_cast<std::int64_t>(outputType)}});
}

void IDequantizeLayer::setAxis(std::int32_t axis) { set_choice(*this, "axis", axis); }
std::int32_t IDequantizeLayer::getAxis() const {
  return static_cast<std::int32_t>(data().parameters.i("axis", -1));
}
void IDequantizeLayer::setToType(DataType v) { set_choice(*this, "to", v); }
DataType IDequantizeLayer::getToType() const { return choice<DataType>(*this, "to"); }

}  // namespace rondel::network
