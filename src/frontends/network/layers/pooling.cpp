#include "base/error.h"
#include "frontends/network/layers/windows.h"

namespace rondel::network {
namespace {

/// If rounding up adds a window that lies entirely in padding, that window is left out, as in ONNX.
std::vector<ValueId> lower_pooling(Lowering& l) {
  const ir::Ints size = window_of(l, "window");
  ir::Attributes a = window_attributes(l, size);
  a.set("kernel_shape", size);
  const auto mode = l.choice<PaddingMode>("padding_mode");
  a.set("ceil_mode", std::int64_t{mode == PaddingMode::kEXPLICIT_ROUND_UP});
  const auto maximum = [&] { return l.b("max_pool", {l.in(0)}, a); };
  const auto average = [&] {
    ir::Attributes with = a;
    with.set("count_include_pad", std::int64_t{l.parameters().i("exclusive") == 0});
    return l.b("average_pool", {l.in(0)}, with);
  };
  const auto times = [&](ValueId v, double by) {
    return l.b("mul", {v, l.b.scalar(l.dtype(v), by)});
  };
  switch (l.choice<PoolingType>("type")) {
    case PoolingType::kMAX: return {maximum()};
    case PoolingType::kAVERAGE: return {average()};
    case PoolingType::kMAX_AVERAGE_BLEND: {
      const double blend = l.parameters().f("blend", 0);
      return {l.b("add", {times(maximum(), 1 - blend), times(average(), blend)})};
    }
  }
  fail("there is no pooling {}", l.parameters().i("type"));
}

const KindEntry pooling_layer{{LayerType::kPOOLING, "Pooling", 1, lower_pooling}};

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
Dims IPoolingLayer::getStrideNd() const { return window_dims(*this, "stride", "window", 1); }
void IPoolingLayer::setPrePadding(const Dims& v) { set_dims(*this, "pre_padding", v); }
Dims IPoolingLayer::getPrePadding() const { return window_dims(*this, "pre_padding", "window", 0); }
void IPoolingLayer::setPostPadding(const Dims& v) { set_dims(*this, "post_padding", v); }
Dims IPoolingLayer::getPostPadding() const {
  return window_dims(*this, "post_padding", "window", 0);
}
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
