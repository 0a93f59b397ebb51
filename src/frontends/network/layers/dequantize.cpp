#include "base/error.h"
#include "frontends/network/layers/quantization.h"

namespace rondel::network {
namespace {

/// The zero point may have any numeric dtype: TensorRT's own examples use floats.
std::vector<ValueId> lower_dequantize(Lowering& l) {
  const DType to = dtype(l.choice<DataType>("to"));
  ir::Attributes a = granularity(l);
  a.set("output_dtype", ir::Type::scalar(to));
  std::vector<ValueId> operands{l.in(0), l.in(1)};
  if (l.has(2)) operands.push_back(l.cast(l.in(2), l.dtype(l.in(0))));
  return {l.b("dequantize_linear", operands, a)};
}

const KindEntry dequantize_layer{{LayerType::kDEQUANTIZE, "Dequantize", 3, lower_dequantize}};

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
