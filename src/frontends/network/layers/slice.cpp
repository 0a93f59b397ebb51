#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kSLICE, "Slice", 6, nullptr}};

}  // namespace

ISliceLayer* INetworkDefinition::addSlice(ITensor& input, const Dims& start, const Dims& size,
                                          const Dims& stride) {
  ISliceLayer* layer = add_layer<ISliceLayer>(
      *data_, LayerType::kSLICE, {&input.data()},
      {{"mode", static_cast<std::int64_t>(SampleMode::kSTRICT_BOUNDS)}});
  layer->setStart(start);
  layer->setSize(size);
  layer->setStride(stride);
  return layer;
}

void ISliceLayer::setStart(const Dims& v) { set_dims(*this, "start", v); }
Dims ISliceLayer::getStart() const { return dims(*this, "start"); }
void ISliceLayer::setSize(const Dims& v) { set_dims(*this, "size", v); }
Dims ISliceLayer::getSize() const { return dims(*this, "size"); }
void ISliceLayer::setStride(const Dims& v) { set_dims(*this, "stride", v); }
Dims ISliceLayer::getStride() const { return dims(*this, "stride"); }
void ISliceLayer::setAxes(const Dims& v) { set_dims(*this, "axes", v); }
Dims ISliceLayer::getAxes() const { return dims(*this, "axes"); }
void ISliceLayer::setMode(SampleMode v) { set_choice(*this, "mode", v); }
SampleMode ISliceLayer::getMode() const { return choice<SampleMode>(*this, "mode"); }

}  // namespace rondel::network
