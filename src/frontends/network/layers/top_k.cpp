#include "base/error.h"
#include "frontends/network/rule.h"

namespace rondel::network {
namespace {

/// K as i64[1].
ValueId count(Lowering& l) {
  if (!l.has(1)) return l.b.integers({l.parameters().i("k")});
  return l.b("reshape", {l.integers(1, "how many"), l.b.integers({1})});
}

std::vector<ValueId> lower_top_k(Lowering& l) {
  const ir::Ints axes = l.axes_of_mask("axes", l.rank(l.in(0)));
  require(axes.size() == 1, "{} axes are set; a top-k goes along one", axes.size());
  const auto operation = l.parameters().i("operation");
  require(operation == 0 || operation == 1, "there is no top-k operation {}", operation);
  const bool largest = l.choice<TopKOperation>("operation") == TopKOperation::kMAX;
  std::vector<ValueId> found = l.b.add("top_k", {l.in(0), count(l)},
                                       {{"axis", axes[0]}, {"largest", std::int64_t{largest}}}, 2);
  return {found[0], l.cast(found[1], dtype(l.choice<DataType>("indices_type")))};
}

const KindEntry top_k_layer{{LayerType::kTOPK, "TopK", 2, lower_top_k}};

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
