#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kRESIZE, "Resize", 2, nullptr}};

}  // namespace

IResizeLayer* INetworkDefinition::addResize(ITensor& input) {
  return add_layer<IResizeLayer>(
      *data_, LayerType::kRESIZE, {&input.data()},
      {{"mode", static_cast<std::int64_t>(InterpolationMode::kNEAREST)},
       {"transformation", static_cast<std::int64_t>(ResizeCoordinateTransformation::kASYMMETRIC)},
       {"selector", static_cast<std::int64_t>(ResizeSelector::kFORMULA)},
       {"rounding", static_cast<std::int64_t>(ResizeRoundMode::kFLOOR)},
       {"cubic", -0.75},
       {"exclude_outside", std::int64_t{0}}});
}

void IResizeLayer::setScales(const float* scales, std::int32_t nbScales) {
  require(scales != nullptr && nbScales >= 0, "the scales of a resize are a null pointer");
  set_parameter(*this, "scales", ir::Floats(scales, scales + nbScales));
}
std::int32_t IResizeLayer::getScales(std::int32_t size, float* scales) const {
  if (!data().parameters.has("scales")) return -1;
  const ir::Floats all = data().parameters.floats("scales");
  for (std::int32_t i = 0; i < size && i < std::ssize(all); ++i)
    scales[i] = static_cast<float>(all[static_cast<std::size_t>(i)]);
  return static_cast<std::int32_t>(all.size());
}
void IResizeLayer::setOutputDimensions(const Dims& v) { set_dims(*this, "dimensions", v); }
Dims IResizeLayer::getOutputDimensions() const { return dims(*this, "dimensions"); }
void IResizeLayer::setResizeMode(InterpolationMode v) { set_choice(*this, "mode", v); }
InterpolationMode IResizeLayer::getResizeMode() const {
  return choice<InterpolationMode>(*this, "mode");
}
void IResizeLayer::setCoordinateTransformation(ResizeCoordinateTransformation v) {
  set_choice(*this, "transformation", v);
}
ResizeCoordinateTransformation IResizeLayer::getCoordinateTransformation() const {
  return choice<ResizeCoordinateTransformation>(*this, "transformation");
}
void IResizeLayer::setSelectorForSinglePixel(ResizeSelector v) { set_choice(*this, "selector", v); }
ResizeSelector IResizeLayer::getSelectorForSinglePixel() const {
  return choice<ResizeSelector>(*this, "selector");
}
void IResizeLayer::setNearestRounding(ResizeRoundMode v) { set_choice(*this, "rounding", v); }
ResizeRoundMode IResizeLayer::getNearestRounding() const {
  return choice<ResizeRoundMode>(*this, "rounding");
}
void IResizeLayer::setCubicCoeff(float v) { set_parameter(*this, "cubic", double{v}); }
float IResizeLayer::getCubicCoeff() const {
  return static_cast<float>(data().parameters.f("cubic", 0));
}
void IResizeLayer::setExcludeOutside(bool v) { set_choice(*this, "exclude_outside", v); }
bool IResizeLayer::getExcludeOutside() const { return choice<bool>(*this, "exclude_outside"); }

}  // namespace rondel::network
