#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry squeeze{{LayerType::kSQUEEZE, "Squeeze", 2, nullptr}};
const KindEntry unsqueeze{{LayerType::kUNSQUEEZE, "Unsqueeze", 2, nullptr}};

}  // namespace

ISqueezeLayer* INetworkDefinition::addSqueeze(ITensor& input, ITensor& axes) {
  return add_layer<ISqueezeLayer>(*data_, LayerType::kSQUEEZE, {&input.data(), &axes.data()}, {});
}

IUnsqueezeLayer* INetworkDefinition::addUnsqueeze(ITensor& input, ITensor& axes) {
  return add_layer<IUnsqueezeLayer>(*data_, LayerType::kUNSQUEEZE, {&input.data(), &axes.data()},
                                    {});
}

}  // namespace rondel::network
