#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kNORMALIZATION, "Normalization", 3, nullptr}};

}  // namespace

INormalizationLayer* INetworkDefinition::addNormalization(ITensor& input, ITensor& scale,
                                                          ITensor& bias, std::uint32_t axesMask) {
  return add_layer<INormalizationLayer>(
      *data_, LayerType::kNORMALIZATION, {&input.data(), &scale.data(), &bias.data()},
      {{"epsilon", double{1e-5F}},
       {"axes", std::int64_t{axesMask}},
       {"groups", std::int64_t{1}},
       {"compute_type", static_cast<std::int64_t>(DataType::kFLOAT)}});
}

void INormalizationLayer::setEpsilon(float v) { set_parameter(*this, "epsilon", double{v}); }
float INormalizationLayer::getEpsilon() const {
  return static_cast<float>(data().parameters.f("epsilon", 0));
}
void INormalizationLayer::setAxes(std::uint32_t v) { set_choice(*this, "axes", v); }
std::uint32_t INormalizationLayer::getAxes() const { return choice<std::uint32_t>(*this, "axes"); }
void INormalizationLayer::setNbGroups(std::int64_t v) { set_choice(*this, "groups", v); }
std::int64_t INormalizationLayer::getNbGroups() const {
  return choice<std::int64_t>(*this, "groups");
}
void INormalizationLayer::setComputePrecision(DataType v) { set_choice(*this, "compute_type", v); }
DataType INormalizationLayer::getComputePrecision() const {
  return choice<DataType>(*this, "compute_type");
}

}  // namespace rondel::network
