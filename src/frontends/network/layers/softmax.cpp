#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kSOFTMAX, "SoftMax", 1, nullptr}};

}  // namespace

ISoftMaxLayer* INetworkDefinition::addSoftMax(ITensor& input) {
  return add_layer<ISoftMaxLayer>(*data_, LayerType::kSOFTMAX, {&input.data()}, {});
}

void ISoftMaxLayer::setAxes(std::uint32_t axes) { set_choice(*this, "axes", axes); }
std::uint32_t ISoftMaxLayer::getAxes() const {
  if (data().parameters.has("axes")) return choice<std::uint32_t>(*this, "axes");
  const Dims d = data().inputs[0]->face.getDimensions();
  return d.nbDims > 3 ? 1U << (d.nbDims - 3) : 1U;
}

}  // namespace rondel::network
