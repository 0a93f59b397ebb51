#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// Pads the last axes, as many as the padding parameters have values.
std::vector<ValueId> lower_padding(Lowering& l) {
  ir::Ints pads = l.parameters().ints("pre_padding"), axes;
  const ir::Ints post = l.parameters().ints("post_padding");
  require(pads.size() == post.size(),
          "pre-padding has {} axes and post-padding {}; expected as many", pads.size(),
          post.size());
  for (std::int64_t a = -std::ssize(pads); a < 0; ++a) axes.push_back(a);
  pads.insert(pads.end(), post.begin(), post.end());
  return {l.b("pad", {l.in(0), l.b.integers(pads), ValueId::none, l.b.integers(axes)})};
}

const KindEntry padding_layer{{LayerType::kPADDING, "Padding", 1, lower_padding}};

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
