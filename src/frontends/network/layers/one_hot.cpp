#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_one_hot(Lowering& l) {
  return {l.b("one_hot", {l.in(0), l.in(2), l.in(1)}, {{"axis", l.parameters().i("axis")}})};
}

const KindEntry one_hot_layer{{LayerType::kONE_HOT, "OneHot", 3, lower_one_hot}};

}  // namespace

IOneHotLayer* INetworkDefinition::addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                            std::int32_t axis) {
  return add_layer<IOneHotLayer>(*data_, LayerType::kONE_HOT,
                                 {&indices.data(), &values.data(), &depth.data()},
                                 {{"axis", std::int64_t{axis}}});
}

void IOneHotLayer::setAxis(std::int32_t v) { set_choice(*this, "axis", v); }
std::int32_t IOneHotLayer::getAxis() const { return choice<std::int32_t>(*this, "axis"); }

}  // namespace rondel::network
