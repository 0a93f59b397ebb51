#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

std::vector<ValueId> lower_non_zero(Lowering& l) {
  return {l.cast(l.b("non_zero", {l.in(0)}), dtype(l.choice<DataType>("indices_type")))};
}

const KindEntry non_zero_layer{{LayerType::kNON_ZERO, "NonZero", 1, lower_non_zero}};

}  // namespace

INonZeroLayer* INetworkDefinition::addNonZero(ITensor& input, DataType indicesType) {
  return add_layer<INonZeroLayer>(*data_, LayerType::kNON_ZERO, {&input.data()},
                                  {{"indices_type", static_cast<std::int64_t>(indicesType)}});
}

void INonZeroLayer::setIndicesType(DataType v) { set_choice(*this, "indices_type", v); }
DataType INonZeroLayer::getIndicesType() const { return choice<DataType>(*this, "indices_type"); }

}  // namespace rondel::network
