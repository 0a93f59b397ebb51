#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kGATHER, "Gather", 2, nullptr}};

}  // namespace

IGatherLayer* INetworkDefinition::addGather(ITensor& data, ITensor& indices, std::int32_t axis) {
  IGatherLayer* layer = addGatherV2(data, indices, GatherMode::kDEFAULT);
  layer->setGatherAxis(axis);
  return layer;
}

IGatherLayer* INetworkDefinition::addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) {
  return add_layer<IGatherLayer>(*data_, LayerType::kGATHER, {&data.data(), &indices.data()},
                                 {{"mode", static_cast<std::int64_t>(mode)},
                                  {"axis", std::int64_t{0}},
                                  {"batch", std::int64_t{0}}});
}

void IGatherLayer::setGatherAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IGatherLayer::getGatherAxis() const { return choice<std::int32_t>(*this, "axis"); }
void IGatherLayer::setNbElementWiseDims(std::int32_t v) { set_choice(*this, "batch", v); }
std::int32_t IGatherLayer::getNbElementWiseDims() const {
  return choice<std::int32_t>(*this, "batch");
}
void IGatherLayer::setMode(GatherMode v) { set_choice(*this, "mode", v); }
GatherMode IGatherLayer::getMode() const { return choice<GatherMode>(*this, "mode"); }

}  // namespace rondel::network
