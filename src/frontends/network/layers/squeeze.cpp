#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

template <bool adds> std::vector<ValueId> lower_squeeze(Lowering& l) {
  return {l.b(adds ? "unsqueeze" : "squeeze", {l.in(0), l.integers(1, "axes")})};
}

const KindEntry squeeze_layer{{LayerType::kSQUEEZE, "Squeeze", 2, lower_squeeze<false>}};
const KindEntry unsqueeze_layer{{LayerType::kUNSQUEEZE, "Unsqueeze", 2, lower_squeeze<true>}};

}  // namespace

ISqueezeLayer* INetworkDefinition::addSqueeze(ITensor& input, ITensor& axes) {
  return add_layer<ISqueezeLayer>(*data_, LayerType::kSQUEEZE, {&input.data(), &axes.data()}, {});
}

IUnsqueezeLayer* INetworkDefinition::addUnsqueeze(ITensor& input, ITensor& axes) {
  return add_layer<IUnsqueezeLayer>(*data_, LayerType::kUNSQUEEZE, {&input.data(), &axes.data()},
                                    {});
}

}  // namespace rondel::network
