#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kPADDING, "Padding", 1, nullptr}};

}  // namespace

IPaddingLayer* INetworkDefinition::addPaddingNd(ITensor& input, const Dims& prePadding,
                                                const Dims& postPadding) {
  IPaddingLayer* layer = add_layer<IPaddingLayer>(*data_, LayerType::kPADDING, {&input.data()}, {});
  layer->setPrePaddingNd(prePadding);
  layer->setPostPaddingNd(postPadding);
  return layer;
}

void IPaddingLayer::setPrePaddingNd(const Dims& v) { set_dims(*this, "pre_padding", v); }
Dims IPaddingLayer::getPrePaddingNd() const { return dims(*this, "pre_padding"); }
void IPaddingLayer::setPostPaddingNd(const Dims& v) { set_dims(*this, "post_padding", v); }
Dims IPaddingLayer::getPostPaddingNd() const { return dims(*this, "post_padding"); }

}  // namespace rondel::network
