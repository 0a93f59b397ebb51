#include "base/error.h"
#include "frontends/network/rule.h"

#include <algorithm>

namespace rondel::network {
namespace {

std::vector<ValueId> lower_softmax(Lowering& l) {
  const std::int64_t rank = l.rank(l.in(0));
  ir::Ints axes{std::max<std::int64_t>(rank - 3, 0)};
  if (l.parameters().has("axes")) axes = l.axes_of_mask("axes", rank);
  require(axes.size() == 1, "{} axes are set; a softmax goes along one", axes.size());
  return {l.b("softmax", {l.in(0)}, {{"axis", axes[0]}})};
}

const KindEntry softmax_layer{{LayerType::kSOFTMAX, "SoftMax", 1, lower_softmax}};

}  // namespace

ISoftMaxLayer* INetworkDefinition::addSoftMax(ITensor& input) {
  return add_layer<ISoftMaxLayer>(*data_, LayerType::kSOFTMAX, {&input.data()}, {});
}

void ISoftMaxLayer::setAxes(std::uint32_t axes) { set_choice(*this, "axes", axes); }
std::uint32_t ISoftMaxLayer::getAxes() const {
  if (data().parameters.has("axes")) return choice<std::uint32_t>(*this, "axes");
  const Dims d = data().inputs[0]->api.getDimensions();
  return d.nbDims > 3 ? 1U << (d.nbDims - 3) : 1U;
}

}  // namespace rondel::network
