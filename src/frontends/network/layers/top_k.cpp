#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

const KindEntry entry{{LayerType::kTOPK, "TopK", 2, nullptr}};

}  // namespace

ITopKLayer* INetworkDefinition::addTopK(ITensor& input, TopKOperation op, std::int32_t k,
                                        std::uint32_t reduceAxes, DataType indicesType) {
  return add_layer<ITopKLayer>(*data_, LayerType::kTOPK, {&input.data()},
                               {{"operation", static_cast<std::int64_t>(op)},
                                {"k", std::int64_t{k}},
                                {"axes", std::int64_t{reduceAxes}},
                                {"indices_type", static_cast<std::int64_t>(indicesType)}},
                               2);
}

void ITopKLayer::setOperation(TopKOperation v) { set_choice(*this, "operation", v); }
TopKOperation ITopKLayer::getOperation() const { return choice<TopKOperation>(*this, "operation"); }
void ITopKLayer::setK(std::int32_t v) { set_choice(*this, "k", v); }
std::int32_t ITopKLayer::getK() const { return choice<std::int32_t>(*this, "k"); }
void ITopKLayer::setReduceAxes(std::uint32_t v) { set_choice(*this, "axes", v); }
std::uint32_t ITopKLayer::getReduceAxes() const { return choice<std::uint32_t>(*this, "axes"); }
void ITopKLayer::setIndicesType(DataType v) { set_choice(*this, "indices_type", v); }
DataType ITopKLayer::getIndicesType() const { return choice<DataType>(*this, "indices_type"); }

}  // namespace rondel::network
