#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kPOOLING, "Pooling", 1, nullptr}};

}  // namespace

IPoolingLayer* INetworkDefinition::addPoolingNd(ITensor& input, PoolingType type,
                                                const Dims& windowSize) {
  IPoolingLayer* layer = add_layer<IPoolingLayer>(
      *data_, LayerType::kPOOLING, {&input.data()},
      {{"type", static_cast<std::int64_t>(type)},
       {"blend", 0.0},
       {"exclusive", std::int64_t{1}},
       {"padding_mode", static_cast<std::int64_t>(PaddingMode::kEXPLICIT_ROUND_DOWN)}});
  layer->setWindowSizeNd(windowSize);
  return layer;
}

void IPoolingLayer::setPoolingType(PoolingType v) { set_choice(*this, "type", v); }
PoolingType IPoolingLayer::getPoolingType() const { return choice<PoolingType>(*this, "type"); }
void IPoolingLayer::setBlendFactor(float v) { set_parameter(*this, "blend", double{v}); }
float IPoolingLayer::getBlendFactor() const {
  return static_cast<float>(data().parameters.f("blend", 0));
}
void IPoolingLayer::setAverageCountExcludesPadding(bool v) { set_choice(*this, "exclusive", v); }
bool IPoolingLayer::getAverageCountExcludesPadding() const {
  return choice<bool>(*this, "exclusive");
}
void IPoolingLayer::setWindowSizeNd(const Dims& v) { set_dims(*this, "window", v); }
Dims IPoolingLayer::getWindowSizeNd() const { return dims(*this, "window"); }
void IPoolingLayer::setStrideNd(const Dims& v) { set_dims(*this, "stride", v); }
Dims IPoolingLayer::getStrideNd() const { return dims(*this, "stride"); }
void IPoolingLayer::setPrePadding(const Dims& v) { set_dims(*this, "pre_padding", v); }
Dims IPoolingLayer::getPrePadding() const { return dims(*this, "pre_padding"); }
void IPoolingLayer::setPostPadding(const Dims& v) { set_dims(*this, "post_padding", v); }
Dims IPoolingLayer::getPostPadding() const { return dims(*this, "post_padding"); }
void IPoolingLayer::setPaddingMode(PaddingMode v) { set_choice(*this, "padding_mode", v); }
PaddingMode IPoolingLayer::getPaddingMode() const {
  return choice<PaddingMode>(*this, "padding_mode");
}
void IPoolingLayer::setPaddingNd(const Dims& v) {
  setPrePadding(v);
  setPostPadding(v);
}
Dims IPoolingLayer::getPaddingNd() const { return getPrePadding(); }

}  // namespace rondel::network
