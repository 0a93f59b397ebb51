#include "base/error.h"
#include "frontends/network/layers/quantization.h"

namespace rondel::network {
namespace {

/// The zero point may have any numeric dtype: TensorRT's own examples use floats.
std::vector<ValueId> lower_quantize(Lowering& l) {
  const DType to = dtype(l.choice<DataType>("to"));
  ir::Attributes a = granularity(l);
  a.set("output_dtype", ir::Type::scalar(to));
  std::vector<ValueId> operands{l.in(0), l.in(1)};
  if (l.has(2)) operands.push_back(l.cast(l.in(2), to));
  return {l.b("quantize_linear", operands, a)};
}

const KindEntry quantize_layer{{LayerType::kQUANTIZE, "Quantize", 3, lower_quantize}};

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
