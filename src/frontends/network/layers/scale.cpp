#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kSCALE, "Scale", 1, nullptr}};

}  // namespace

IScaleLayer* INetworkDefinition::addScale(ITensor& input, ScaleMode mode, Weights shift,
                                          Weights scale, Weights power) {
  return addScaleNd(input, mode, shift, scale, power, 1);
}

IScaleLayer* INetworkDefinition::addScaleNd(ITensor& input, ScaleMode mode, Weights shift,
                                            Weights scale, Weights power,
                                            std::int32_t channelAxis) {
  IScaleLayer* layer = add_layer<IScaleLayer>(
      *data_, LayerType::kSCALE, {&input.data()},
      {{"mode", static_cast<std::int64_t>(mode)}, {"axis", std::int64_t{channelAxis}}});
  layer->setShift(shift);
  layer->setScale(scale);
  layer->setPower(power);
  return layer;
}

void IScaleLayer::setMode(ScaleMode v) { set_choice(*this, "mode", v); }
ScaleMode IScaleLayer::getMode() const { return choice<ScaleMode>(*this, "mode"); }
void IScaleLayer::setShift(Weights v) { set_weights(*this, "shift", v); }
Weights IScaleLayer::getShift() const { return weights(*this, "shift"); }
void IScaleLayer::setScale(Weights v) { set_weights(*this, "scale", v); }
Weights IScaleLayer::getScale() const { return weights(*this, "scale"); }
void IScaleLayer::setPower(Weights v) { set_weights(*this, "power", v); }
Weights IScaleLayer::getPower() const { return weights(*this, "power"); }
void IScaleLayer::setChannelAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IScaleLayer::getChannelAxis() const { return choice<std::int32_t>(*this, "axis"); }

}  // namespace rondel::network
